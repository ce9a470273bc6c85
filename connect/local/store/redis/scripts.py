"""The Lua scripts of a run store, each of which is one atomic step in Redis. They need Redis 6 or newer, or Valkey, and
no modules.

A command whose answer was lost is sent again, and a command that was sent while Redis did not answer may be carried out
much later. So every script may be repeated or delayed (rule 3 of `run_database`):

- A claim has a token. The thread keeps the token of its last run after the end, so that a claim with this token does
  nothing. A claim also has the contact of its process, so that it does nothing if it was sent before an outage.
- An entry has its number in its id. An entry that is in the log already is not written again.
- A run keeps its thread as long as no higher fence is known, even if its lease has expired, or Redis has lost its data.
  The end of a run raises the fence of the thread.

A run counts as lost half a lease after its lease has expired, and then another run may claim the thread; or only the
continuation of the run, for a while. A run that was handed over is lost at once: its status is `lost`. But while
Redis did not answer, no process could renew a lease. So the process that asks must have been in contact with Redis for
half a lease, without a pause: by then, an owner that still exists has renewed its lease. All times are those of Redis.
"""

from __future__ import annotations

from typing import Final

from ..run_database import CONTINUED_WITHIN

_NOW: Final = """
if redis.replicate_commands then redis.replicate_commands() end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function after(ms) return string.format('%.0f', now + ms) end
"""
"""Allows a script to write values that depend on the time, which Redis before 7 must be told. `now` is in ms."""

CONTACT: Final = (
    _NOW
    + """
redis.call('SET', KEYS[1], redis.call('GET', KEYS[1]) or after(0), 'PX', ARGV[1])
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('SET', KEYS[2], ARGV[3] == '1' and after(0) or '0') end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return redis.call('GET', KEYS[1])
"""
)
"""Keys: contact, emptied. Arguments: for how many ms the contact is valid, for how many ms `emptied` is kept, and 1 if
the process has been in contact before. If it has, and Redis does not know `emptied`, Redis has lost its data. Returns
the contact. The script always writes, so a Redis that is full, or has become a replica, refuses it, just as it would
refuse a new run."""

_LEASE: Final = (
    _NOW
    + """
local thread, contact, emptied, grace = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1])
local continued_within = """
    + str(2 * CONTINUED_WITHIN)
    + """ * grace
local fence, claim, status, till, token, ended, last =
  unpack(redis.call('HMGET', thread, 'fence', 'claim', 'status', 'until', 'token', 'ended', 'last'))
local function lease_state()
  local decided = 0
  if claim then
    if now < tonumber(till) then return 'valid', till - now end
    decided = math.max(till, redis.call('GET', contact) or now) + grace
    if status == 'lost' then decided = decided - grace end
  elseif not fence then
    decided = (redis.call('GET', emptied) or now) + grace
  end
  if now < decided then return 'doubt', decided - now end
  if not claim then return 'free', 0 end
  local is_kept = redis.call('HEXISTS', thread, 'input') == 1
  return 'lost', is_kept and math.max(decided + continued_within - now, 0) or 0
end
"""
)
"""Defines `lease_state()`, which returns the state of a thread's lease, and the ms for which it is `valid` or in
`doubt`, or for which a `lost` run may be continued (0 if it is `free`). It names the first three keys and the first
argument of the scripts that begin with it. Fields that do not exist are false."""

_KNOWN: Final = (
    _LEASE
    + """
local line, alive = KEYS[4], KEYS[5]
local function known()
  local state, ms = lease_state()
  local waiting = 0
  for _, ticket in ipairs(redis.call('LRANGE', line, 0, -1)) do
    if tonumber(redis.call('HGET', alive, ticket) or 0) >= now then waiting = waiting + 1 end
  end
  if state == 'lost' then status = redis.call('HEXISTS', thread, 'cancel') == 1 and 'stopping' or status end
  return {state, ms, fence or '0', claim or '', status or '', last or '', waiting}
end
"""
)
"""Defines `known()`, which returns the fields of a `Lease`: the state and the ms of the lease; the fence, the claim and
the status of the run; how the last run ended; and the number of tickets. It names two more keys."""

LEASE: Final = _KNOWN + "return known()"
"""Keys: thread, contact, emptied, line, alive. Argument: half a lease in ms. Returns `known()`."""

_LEAVE: Final = """
local function leave(line, alive, closed, ticket, channel)
  redis.call('LREM', line, 0, ticket)
  redis.call('HDEL', alive, ticket)
  if redis.call('GET', closed) == ticket then redis.call('DEL', closed) end
  redis.call('PUBLISH', channel, 'turn 0-0 0\\n')
end
"""
"""Defines `leave()`, which takes a ticket out of the line."""

CLAIM: Final = (
    _LEASE
    + _LEAVE
    + """
local line, alive, closed = KEYS[4], KEYS[5], KEYS[6]
local wanted, lease_ms, keep_ms, its_claim, channel = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local its_contact, revision, input, continues, ticket = ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11]
if redis.call('EXISTS', closed) == 1 then return {'closed', '', ''} end
if token == wanted then return {'claimed', fence, last or ''} end
if ended == wanted or redis.call('HGET', thread, 'withdrawn') == wanted then return {'over', '', ''} end
local state, ms = lease_state()
if state == 'valid' or (state == 'lost' and ms > 0 and continues ~= fence) then return {'busy', claim, ''} end
if state == 'doubt' then return {'doubt', ms, ''} end
if its_contact ~= redis.call('GET', contact) then return {'doubt', grace, ''} end
if revision ~= '' and revision ~= (fence or '0') then return {'changed', '', ''} end
local granted = string.format('%.0f', math.max(now, (tonumber(fence) or 0) + 1))
redis.call('HSET', thread, 'token', wanted, 'fence', granted, 'claim', its_claim, 'until', after(lease_ms))
redis.call('HDEL', thread, 'status', 'input')
if continues == '0' then
  redis.call('HDEL', thread, 'cancel')
elseif status == 'stopping' then
  redis.call('HSET', thread, 'cancel', '1')
end
if input ~= '' then redis.call('HSET', thread, 'input', input) end
redis.call('PEXPIRE', thread, keep_ms)
redis.call('PUBLISH', channel, 'started ' .. granted .. '-0 0\\n' .. its_claim)
if ticket ~= '' then leave(line, alive, closed, ticket, channel) end
return {'claimed', granted, last or ''}
"""
)
"""Keys: thread, contact, emptied, line, alive, closed. Arguments: half a lease in ms, the token, the lease in ms, for
how many ms the thread is kept, the claim, the channel, the contact of the process, the fence that the thread must have
("": any), the input of the run ("": nothing is kept), the fence of the run that it continues (0 if there is none), and
the ticket that leaves the line if the claim is granted ("": none).

Returns `claimed` with the fence and how the last run ended; `busy` with the claim of the active run, or of one that may
be continued; `doubt` with the ms after which to ask again, at most; `closed`; `changed` if the thread has another
fence; or `over` if the claim was delayed until its run had ended, or until it was withdrawn, in which case no caller
waits for the answer."""

WITHDRAW: Final = """
local thread, token = KEYS[1], ARGV[1]
redis.call('HSET', thread, 'withdrawn', token)
if redis.call('HGET', thread, 'token') == token then
  local fence = redis.call('HGET', thread, 'fence')
  redis.call('HSET', thread, 'ended', token, 'fence', string.format('%.0f', tonumber(fence) + 1))
  redis.call('HDEL', thread, 'claim', 'token', 'until', 'status', 'cancel', 'input')
end
redis.call('PEXPIRE', thread, ARGV[2])
return 1
"""
"""Key: thread. Arguments: the token of the claim, and for how many ms the thread is kept. Frees the thread if the claim
was granted. Otherwise the claim may still be carried out, and then does nothing."""

_OWNED: Final = """
local thread = KEYS[1]
local fence, token, keep_ms, claim = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local known, till, cancel, its_status = unpack(redis.call('HMGET', thread, 'fence', 'until', 'cancel', 'status'))
local function is_owned()
  if known == fence then return its_status ~= 'lost' end
  if tonumber(known or 0) > tonumber(fence) then return false end
  redis.call('HSET', thread, 'token', token, 'fence', fence, 'claim', claim)
  redis.call('HDEL', thread, 'status', 'cancel')
  cancel = false
  return true
end
"""
"""Defines `is_owned()`, which returns whether the run has its thread, and was not handed over; the run takes the thread
again if no higher fence is known. It names the first key and the first four arguments of the scripts that begin with
it: the fence and the token of the run, for how many ms the thread is kept, and the claim."""

_RENEWED: Final = (
    _NOW
    + _OWNED
    + """
local function come_back(channel)
  if not till or tonumber(till) <= now then
    redis.call('PUBLISH', channel, 'back ' .. fence .. '-0 0\\n' .. claim)
  end
end
local function renew(lease_ms, channel, ...)
  come_back(channel)
  redis.call('HSET', thread, 'until', after(lease_ms), ...)
  redis.call('PEXPIRE', thread, keep_ms)
end
"""
)
"""Defines `renew()`, which renews the lease of a run that has its thread. If the lease had expired, readers in other
processes may have been told that the owner is lost, so they are told that it is back."""

RENEW: Final = (
    _RENEWED
    + """
if not is_owned() then return 'taken' end
renew(ARGV[5], ARGV[6])
return 'ok'
"""
)
"""Key: thread. Arguments after the first four: the lease in ms, the channel. Returns `ok` or `taken`."""

APPEND: Final = (
    _RENEWED
    + """
local log, readers, logs = KEYS[2], KEYS[3], KEYS[4]
local status, lease_ms, log_ms, channel = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local number, kind, at, frames, appended = tonumber(ARGV[9]), ARGV[10], ARGV[11], ARGV[12], ARGV[13]
if status ~= 'free' then
  if not is_owned() then return {'taken', '', 0} end
  renew(lease_ms, channel, 'status', status)
elseif tonumber(redis.call('HGET', thread, 'forgotten') or 0) >= tonumber(fence) then
  return {'ok', '', 0}
end
local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
newest = newest and tonumber(string.match(newest[1], '%-(%d+)$')) or 0
local answer = 'ok'
if newest < number then
  if kind == '' or (kind ~= 'snapshot' and newest ~= number - 1) then
    answer = 'gap'
  else
    local id = fence .. '-' .. ARGV[9]
    if kind == 'snapshot' then redis.call('DEL', log) end
    redis.call('XADD', log, id, 'kind', kind, 'at', at, 'frames', frames)
    redis.call('PUBLISH', appended, fence)
  end
end
redis.call('PEXPIRE', log, log_ms)
redis.call('ZREMRANGEBYSCORE', logs, '-inf', now)
redis.call('ZADD', logs, after(log_ms), fence)
if redis.call('PTTL', logs) < tonumber(log_ms) then redis.call('PEXPIRE', logs, log_ms) end
local elsewhere = 0
for _, ends in ipairs(redis.call('HVALS', readers)) do
  if tonumber(ends) > now then elsewhere = elsewhere + 1 end
end
return {answer, status ~= 'free' and cancel or '', elsewhere}
"""
)
"""Keys: thread, log, readers, logs. Arguments after the first four: the run's status (`free` after its end, when it
needs no lease), the lease in ms, for how many ms the log is kept, the channel; the number, the kind, `at` and the
frames of the entry; and the channel for the notification of a new entry. Without a kind, the script only renews the
lease, and the number is that of the last entry.

Returns `ok`, `gap` (the log lacks entries before this one, so a snapshot must follow) or `taken` (another run has the
thread); whether the run is to stop; and the number of other processes that have readers. If the thread was deleted
meanwhile, the last entries of the run are not kept."""

END: Final = (
    _RENEWED
    + """
local last = ARGV[5]
if redis.call('HGET', thread, 'ended') == token then return 'free' end
if not is_owned() then return 'taken' end
come_back(ARGV[6])
redis.call('HSET', thread, 'ended', token, 'fence', string.format('%.0f', tonumber(fence) + 1))
redis.call('HDEL', thread, 'claim', 'token', 'until', 'status', 'cancel', 'input')
if last ~= '' then redis.call('HSET', thread, 'last', last) end
redis.call('PEXPIRE', thread, keep_ms)
return 'free'
"""
)
"""Ends a run. Key: thread. Arguments after the first four: how the run ended ("" if only its checkpoint says that), the
channel. Returns `free` or `taken`."""

HAND_OVER: Final = (
    _RENEWED
    + """
if known == fence and its_status == 'lost' then return 'lost' end
if redis.call('HGET', thread, 'ended') == token or not is_owned() then return 'taken' end
redis.call('HSET', thread, 'status', 'lost', 'until', after(0))
if ARGV[6] ~= '' then redis.call('HSET', thread, 'input', ARGV[6]) end
redis.call('PUBLISH', ARGV[5], '')
return 'lost'
"""
)
"""Hands a run over. Key: thread. Arguments after the first four: the channel of runs that are handed over, and what
replaces the input of the run ("" if it stays). Returns `lost` or `taken`."""

FORGET: Final = """
local thread, logs = KEYS[1], KEYS[2]
local fence = redis.call('HGET', thread, 'fence')
if fence then
  if redis.call('HEXISTS', thread, 'claim') == 1 then
    fence = string.format('%.0f', tonumber(fence) + 1)
    redis.call('HSET', thread, 'fence', fence)
  end
  redis.call('HSET', thread, 'forgotten', fence)
  redis.call('HDEL', thread, 'claim', 'token', 'until', 'status', 'cancel', 'last', 'input')
end
return redis.call('ZRANGE', logs, 0, -1)
"""
"""Forgets a thread that is deleted. If it has a run, the run loses the thread, and does not get it back if its owner
returns. Keys: thread, logs. Returns the fences of the runs that have a log."""

KEEP: Final = """
local thread, finished, run = KEYS[1], KEYS[2], KEYS[3]
local fence, age_ms, about, events = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if tonumber(redis.call('HGET', thread, 'forgotten') or 0) >= tonumber(fence) then return 0 end
redis.call('HSET', run, 'about', about, 'events', events)
redis.call('PEXPIRE', run, age_ms)
redis.call('ZADD', finished, fence, fence)
redis.call('PEXPIRE', finished, age_ms)
return 1
"""
"""Keeps a finished run. Keys: thread, finished, the run. Arguments: the fence, for how many ms it is kept, `about` and
`events`. Returns 0 if the thread was deleted."""

_DROP_FINISHED: Final = """
local ages, sizes = KEYS[1], KEYS[2]
local function drop(name)
  local size = redis.call('HGET', sizes, name)
  if not size then return end
  redis.call('ZREM', ages, name)
  redis.call('HDEL', sizes, name)
  redis.call('HINCRBY', sizes, '', -size)
end
"""
"""Defines `drop()`, which drops a finished run of a store. It names the first two keys of the scripts that begin with
it."""

NOTE_FINISHED: Final = (
    _NOW
    + _DROP_FINISHED
    + """
local name, size, age_ms, most, most_bytes = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
drop(name)
redis.call('ZADD', ages, after(age_ms), name)
redis.call('HSET', sizes, name, size)
redis.call('HINCRBY', sizes, '', size)
local dropped = {}
while true do
  local oldest, till = unpack(redis.call('ZRANGE', ages, 0, 0, 'WITHSCORES'))
  local is_within = redis.call('ZCARD', ages) <= most and tonumber(redis.call('HGET', sizes, '')) <= most_bytes
  if not oldest or (is_within and tonumber(till) > now) then break end
  drop(oldest)
  dropped[#dropped + 1] = oldest
end
redis.call('PEXPIRE', ages, age_ms)
redis.call('PEXPIRE', sizes, age_ms)
return dropped
"""
)
"""Notes a finished run among those of its store, and drops the oldest ones that are over a limit. Keys: ages, sizes.
Arguments: the name of the run, the size of its events, for how many ms it is kept, and the limits: runs and bytes.
Returns the names of those that were dropped there."""

FORGET_FINISHED: Final = (
    _DROP_FINISHED
    + """
for _, name in ipairs(ARGV) do drop(name) end
return 1
"""
)
"""Drops finished runs of a store, by their names. Keys: ages, sizes."""

LOGS: Final = (
    _NOW
    + """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZRANGE', KEYS[1], 0, -1)
"""
)
"""Key: logs. Returns the fences of the runs that have a log."""

DROP_LOG: Final = """
redis.call('DEL', KEYS[2])
return redis.call('ZREM', KEYS[1], ARGV[1])
"""
"""Keys: logs, log. Argument: fence."""

CANCEL: Final = """
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'cancel', '1')
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1
"""
"""Key: thread. Arguments: the fence, the owner's channel, and the message that is published there."""

WAKE: Final = """
redis.call('XADD', KEYS[1], 'MAXLEN', 1, '*', 'woken', '')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
"""
"""Key: wake. Argument: for how many ms the stream is kept."""

READERS: Final = (
    _NOW
    + """
if ARGV[2] == '0' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('PUBLISH', ARGV[3], ARGV[4])
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], after(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[2])
return 1
"""
)
"""Key: readers. Arguments: a process, for how many ms the note of its readers is valid (0 if it no longer has any), the
owner's channel, and the message that is published there if it has none."""

ENTER: Final = (
    _KNOWN
    + """
local ticket, ticket_ms, answer = ARGV[2], ARGV[3], known()
local state, waiting = answer[1], answer[7]
local has_turn = redis.call('LINDEX', line, 0) == ticket
if not has_turn and waiting == 0 and (state == 'free' or (state == 'lost' and answer[2] == 0)) then
  redis.call('DEL', line, alive)
  redis.call('RPUSH', line, ticket)
  redis.call('HSET', alive, ticket, after(ticket_ms))
  redis.call('PEXPIRE', line, 2 * ticket_ms)
  redis.call('PEXPIRE', alive, 2 * ticket_ms)
  has_turn = true
end
answer[8] = has_turn and 1 or 0
return answer
"""
)
"""Keys: those of `LEASE`. Arguments: half a lease in ms, the ticket, for how many ms it is valid. Returns `known()`,
and 1 if the ticket has the turn, else 0. The ticket is in the line already if the command is repeated. If no ticket
waits, those that are in the line have expired."""

TURN: Final = (
    _KNOWN
    + """
local closed, ticket, ticket_ms, closes = KEYS[6], ARGV[2], ARGV[3], ARGV[4]
if redis.call('HEXISTS', alive, ticket) == 0 then redis.call('RPUSH', line, ticket) end
redis.call('HSET', alive, ticket, after(ticket_ms))
redis.call('PEXPIRE', line, 2 * ticket_ms)
redis.call('PEXPIRE', alive, 2 * ticket_ms)
local first = redis.call('LINDEX', line, 0)
while first and (tonumber(redis.call('HGET', alive, first)) or 0) < now do
  redis.call('LPOP', line)
  redis.call('HDEL', alive, first)
  first = redis.call('LINDEX', line, 0)
end
if first ~= ticket then return 0 end
if closes == '1' then redis.call('SET', closed, ticket, 'PX', ticket_ms) end
return known()
"""
)
"""Keys: those of `LEASE`, closed. Arguments: half a lease in ms, the ticket, for how many ms it is valid, and 1 if it
closes the thread. Returns `known()` if the ticket has the turn, else 0. A ticket that has expired is dropped when it
becomes the first."""

LEAVE: Final = (
    _LEAVE
    + """
leave(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2])
return 1
"""
)
"""Keys: line, alive, closed. Arguments: the ticket, the channel."""
