"""Editors. The rules of the protocol, and the ways in which agents of editors have been reported to fail, each with
the test that fails without it:

- nothing but messages leaves on standard output, and nothing else reads standard input
    test_what_tools_print_and_read_is_not_the_protocols
- updates of a turn come before its response, and none after it
    test_a_prompt_streams_and_ends
- updates of a new session come after the response that names it
    test_the_first_update_of_a_session_follows_its_response
- a prompt is not repeated to the editor that sent it
    test_a_prompt_streams_and_ends
- permission is asked about the call that was announced
    test_permission_is_asked_about_the_announced_call
- a cancel at any moment ends a turn as cancelled
    test_whatever_an_editor_does_its_sessions_go_on
- also before its run has begun
    test_a_cancel_right_behind_its_prompt_cancels_it
- also by the id of its request
    test_a_cancelled_request_is_its_turn
- and also if the graph raises because of it
    test_a_graph_that_raises_since_it_is_cancelled_is_cancelled
- what a model refused is not in the next prompt
    test_what_a_model_refused_is_not_in_the_next_prompt
- a rejected call is no refusal
    test_a_rejected_call_has_failed_and_the_turn_goes_to_its_end
- a load emits everything, then is answered
    test_a_loaded_session_displays_what_the_live_one_did
- a resume emits nothing
    test_a_resumed_session_emits_nothing_and_the_next_prompt_repeats_nothing
- live and loaded sessions display the same
    test_live_and_loaded_sessions_display_the_same
- `_meta` replaces no parameters
    test_meta_replaces_no_parameters
- a line that is no message is answered, and the next is read
    test_lines_that_are_no_messages_are_answered_and_survived
- also one that is too long
    test_a_request_that_is_too_long_is_answered
- an error of a graph reveals its class alone
    test_an_error_reveals_its_class_alone
- so does one of a factory
    test_an_agent_that_can_not_be_made_is_an_error_of_its_session
- a method that there is not is no success
    test_unknown_methods_and_wrong_parameters_have_their_codes
- `initialize` is answered before the agent is loaded, with the version that is spoken
    test_initialize_is_answered_while_the_agent_is_loaded
- thoughts come before their answer
    test_thoughts_come_before_the_answer_and_under_their_own_id
- a call is announced by its name, has its arguments when they are complete, begins with its tool, and ends before
  what the model says of it
    test_calls_are_announced_by_name_then_get_arguments_then_run_then_end
- a tool that fails has failed
    test_a_failed_tool_is_failed
- no call is open when a turn is over, but those that wait for an answer in the chat
    test_a_turn_of_each_fixture_is_answered
- only what is allowed is offered
    test_only_what_is_allowed_is_offered
- an answer that is none, and an option that there is not, are no approval
    test_any_other_answer_is_no_approval
- a client that never answers can cancel
    test_cancel_while_a_permission_is_never_answered
- what the client has not advertised is not asked
    test_without_forms_a_question_is_asked_in_the_chat_and_the_next_prompt_is_its_answer
- a session takes another prompt after any end
    test_a_session_takes_another_prompt_after_any_end
- one prompt of a session at a time
    test_a_second_prompt_is_refused_and_other_sessions_are_their_own
- sessions share no updates, no cancel, and no approval
    test_what_is_approved_in_one_session_is_asked_in_another
- nor tools
    test_tools_of_a_server_are_those_of_its_session
- a load of a session that runs is refused, and its prompt can still be cancelled
    test_a_session_that_runs_is_not_loaded_and_can_be_cancelled
- an editor that leaves stops its runs
    test_an_editor_that_leaves_stops_its_runs
- and its process ends
    test_a_process_ends_in_which_a_tool_can_not_be_stopped
- a process that is killed has its checkpoint for the next one
    test_a_process_that_is_killed_has_its_checkpoint_for_the_next
- every message is one of the published schema
    test_the_python_sdk_lives_a_session_through_every_message_by_the_schema
"""
