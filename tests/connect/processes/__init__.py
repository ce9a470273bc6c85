"""Several server processes that share Redis and PostgreSQL: what is promised of them, with real signals.

Each promise, and the tests that fail without it: here, in `local/store/redis`, and for all stores in
`local/store/test_run_store.py`.

| promise | tests |
|---|---|
| a reader anywhere gets what brings it to the run, then every event once | `test_readers_of_all_processes_have_the_whole_run_wherever_they_come`, `test_a_reader_elsewhere_gets_every_event_of_a_burst_once`, `test_a_reader_elsewhere_misses_nothing_when_its_connections_are_lost` |
| a client that says what it has gets only what it lacks | `test_readers_of_all_processes_have_the_whole_run_wherever_they_come`, `test_a_reader_that_comes_back_with_its_offset_gets_every_event_once`, `test_offsets_are_the_same_everywhere_after_a_publisher_was_far_behind` |
| all readers of a run in a process cost one subscription | `test_a_reader_elsewhere_gets_every_event_of_a_burst_once` |
| one run a thread; the others get what `busy` says | `test_of_many_that_ask_at_once_one_starts`, `test_inputs_of_all_processes_have_their_turns_in_the_order_in_which_they_came`, `test_a_run_is_stopped_by_any_process` |
| what an input does is decided for the thread as it is when its run starts | `test_an_input_is_planned_again_when_its_thread_has_had_a_run_since` |
| an input whose process is gone holds up nobody for long | `test_inputs_of_all_processes_have_their_turns_in_the_order_in_which_they_came`, `test_a_waiting_input_whose_process_is_gone_delays_the_next_for_a_lease` |
| any process stops a run | `test_a_run_is_stopped_by_any_process` |
| how a run ended is the same everywhere | `test_how_a_run_ended_is_the_same_in_all_processes`, `test_how_the_last_run_ended_is_the_same_for_all_processes` |
| who has the end finds the thread free everywhere | `test_a_client_that_got_the_end_of_a_run_finds_the_thread_free_everywhere`, `test_the_next_run_waits_until_redis_knows_the_end_of_the_one_before` |
| a killed process | `test_the_owner_of_a_run_is_killed` |
| a killed process whose runs are continued | `test_a_run_is_continued_wherever_its_process_was_killed`, `test_readers_stay_while_another_process_continues_the_run`, `test_an_input_that_comes_meanwhile_finds_the_thread_busy`, `test_a_run_that_was_being_stopped_is_not_continued`, `test_readers_of_a_process_that_was_frozen_get_the_end_of_the_run_that_another_one_continued`, `test_a_run_that_kills_its_process_is_tried_three_times`, `test_a_process_that_is_started_again_continues_its_runs` |
| a process that ends and hands its runs over | `test_a_process_that_ends_hands_its_runs_over_at_once` |
| a process that is ended | `test_a_server_that_ends_lets_its_runs_end`, `test_a_run_that_does_not_end_in_time_is_stopped_and_its_thread_is_free_at_once`, `test_an_input_that_is_queued_in_a_process_that_ends_has_its_turn`, `test_all_processes_are_restarted_under_load` |
| a frozen process | `test_the_owner_of_a_run_is_frozen_for_longer_than_a_lease`, `test_an_owner_that_was_frozen_writes_nothing_over_what_another_process_has_written`, `test_an_owner_that_is_stalled_before_its_graph_begins_writes_nothing`, `test_a_process_that_was_frozen_writes_no_checkpoint_but_the_one_that_was_being_written` |
| clocks that differ | `test_processes_whose_clocks_differ_a_little_lose_no_message`, `test_a_process_whose_clock_is_far_behind_runs_nothing_and_reads` |
| an event loop that stands still | `test_a_process_whose_loop_is_blocked_keeps_its_threads` |
| a process that was silent, and goes on | `test_a_run_whose_process_was_silent_and_goes_on_reaches_its_readers_again`, `test_what_another_process_makes_up_of_a_lost_run_has_no_id_to_continue_after` |
| Redis is full, or what it needs fails | `test_a_redis_that_is_full_or_a_replica_refuses_every_new_run_in_the_same_way`, `test_a_background_task_that_fails_begins_again_and_new_runs_are_refused_meanwhile` |
| Redis is away | `test_redis_is_away_while_a_run_goes_on`, `test_a_run_ends_while_redis_is_away` |
| Redis answers again | `test_after_an_outage_no_process_takes_a_thread_before_its_owner_could_renew_its_lease`, `test_after_an_outage_all_processes_have_the_end_that_a_run_had_in_its_own`, `test_redis_comes_back_and_the_thread_of_a_run_is_asked_for_at_once` |
| a store that was closed, forked or left | `test_a_store_that_was_closed_works_when_it_is_used_again`, `test_a_store_is_one_of_its_own_after_a_fork_and_keeps_no_interpreter_alive` |
| what Redis keeps is bounded | `test_what_redis_keeps_of_a_run_is_bounded_at_any_moment_and_expires` |
| a process has few connections to Redis | `test_two_hundred_runs_are_read_elsewhere` |
| `watch` has the runs of all processes | `test_readers_of_all_processes_have_the_whole_run_wherever_they_come`, `test_who_follows_a_thread_gets_each_run_that_starts_once_and_can_read_it_to_its_end` |
| a reader that does not read holds up nobody | `test_a_reader_that_does_not_read_holds_up_nobody`, `test_a_reader_elsewhere_that_does_not_read_holds_up_nobody_and_is_brought_to_the_view` |
| `on_disconnect="cancel"` counts the readers of all processes | `test_a_run_that_goes_with_its_readers_is_kept_by_those_of_other_processes` |
| Redis is asked nothing before a user is let in; threads never meet | `test_redis_is_asked_nothing_before_a_user_is_let_in`, `test_ids_may_be_anything_and_threads_never_meet` |
"""  # noqa: E501 - a table
