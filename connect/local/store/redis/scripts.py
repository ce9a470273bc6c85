"""What a run store does in Redis in one step: Lua scripts, each a few lines. Redis 6 or newer, or Valkey; no modules.

A command whose answer was lost is sent again, and one that was sent to a Redis that did not answer may be carried out
much later. So every script may be repeated or delayed:

- A claim has a token. A run that has ended leaves its token in the thread's hash, so that its claim does nothing then.
- An entry has its number in its id. An entry that is in the log already is not written again.
- A lease that is gone (it expired, or Redis came back empty) is the run's again if no other run has claimed the thread
  since: no higher fence is known. The end of a run raises the fence of the thread.
"""

from __future__ import annotations

from typing import Final

_WRITES_AFTER_TIME: Final = """
if redis.replicate_commands then redis.replicate_commands() end
"""
"""Lets a script write what depends on the time, which Redis before 7 must know."""

CLAIM: Final = (
    _WRITES_AFTER_TIME
    + """
local lease, thread, closed = KEYS[1], KEYS[2], KEYS[3]
local token, lease_ms, keep_ms, claim, channel, revision = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if redis.call('EXISTS', closed) == 1 then return {'closed', '', ''} end
local active = redis.call('HMGET', lease, 'token', 'fence', 'claim')
local known = redis.call('HMGET', thread, 'token', 'fence', 'last')
if active[1] == token then return {'claimed', active[2], known[3] or ''} end
if active[1] then return {'busy', active[3], ''} end
if known[1] == token then return {'over', '', ''} end
if revision ~= '' and revision ~= (known[2] or '0') then return {'changed', '', ''} end
local now = redis.call('TIME')
local fence = math.max(now[1] * 1000 + math.floor(now[2] / 1000), (tonumber(known[2]) or 0) + 1)
fence = string.format('%.0f', fence)
redis.call('HSET', lease, 'token', token, 'fence', fence, 'claim', claim)
redis.call('PEXPIRE', lease, lease_ms)
redis.call('HSET', thread, 'fence', fence)
redis.call('PEXPIRE', thread, keep_ms)
redis.call('PUBLISH', channel, 'started ' .. fence .. '-0 0\\n' .. claim)
return {'claimed', fence, known[3] or ''}
"""
)
"""Keys: lease, thread, closed. Arguments: token, lease and keep in ms, claim, channel, the fence that the thread is to
have ("": any). Gives `claimed` with the fence and the last run; `busy` with the claim of the active run; `closed`;
`changed`: it has another fence; `over` for a claim that was delayed until its run had ended: no caller waits for this
answer."""

_OWNED: Final = """
local lease, thread = KEYS[1], KEYS[2]
local fence, token, lease_ms, keep_ms, claim = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local function is_owned()
  local active = redis.call('HGET', lease, 'fence')
  if active == fence then return true end
  local last = redis.call('HGET', thread, 'fence')
  if math.max(tonumber(active or 0), tonumber(last or 0)) > tonumber(fence) then return false end
  redis.call('DEL', lease)
  redis.call('HSET', thread, 'fence', fence)
  redis.call('HSET', lease, 'token', token, 'fence', fence, 'claim', claim)
  return true
end
"""
"""Whether the run has the lease, or gets it again. It names the first two keys and five arguments of the scripts that
begin with it."""

APPEND: Final = (
    _WRITES_AFTER_TIME
    + _OWNED
    + """
local log, readers = KEYS[3], KEYS[4]
local status, log_ms, channel = ARGV[6], ARGV[7], ARGV[8]
local number, kind, at, frames = tonumber(ARGV[9]), ARGV[10], ARGV[11], ARGV[12]
if status ~= 'free' then
  if not is_owned() then return {'taken', '', 0} end
  redis.call('PEXPIRE', lease, lease_ms)
  redis.call('PEXPIRE', thread, keep_ms)
  if status == 'stopping' then redis.call('HSET', lease, 'status', status) end
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
    redis.call('PUBLISH', channel, kind .. ' ' .. id .. ' ' .. at .. '\\n' .. frames)
  end
end
redis.call('PEXPIRE', log, log_ms)
local elsewhere, time = 0, redis.call('TIME')
for _, ends in ipairs(redis.call('HVALS', readers)) do
  if tonumber(ends) > time[1] * 1000 + math.floor(time[2] / 1000) then elsewhere = elsewhere + 1 end
end
return {answer, status ~= 'free' and redis.call('HGET', lease, 'cancel') or '', elsewhere}
"""
)
"""Keys: lease, thread, log, readers. Arguments after the first five: the run's status (`free` after its end: then it
needs no lease), for how long the log is kept, channel; number, kind, `at` and frames of the entry. Without a kind it
renews the lease, and the number is that of the last entry. Gives `ok`, `gap` (entries before this one are missing in
the log: a snapshot is next) or `taken` (another run has the thread), whether the run is to stop, and how many other
processes have readers."""

END: Final = (
    _OWNED
    + """
local last = ARGV[6]
if redis.call('HGET', thread, 'token') == token then return 'free' end
if not is_owned() then return 'taken' end
redis.call('HSET', thread, 'token', token, 'fence', string.format('%.0f', tonumber(fence) + 1))
if last ~= '' then redis.call('HSET', thread, 'last', last) end
redis.call('PEXPIRE', thread, keep_ms)
redis.call('DEL', lease)
return 'free'
"""
)
"""Keys: lease, thread. Argument after the first five: how the run ended; "" where only its checkpoint says that."""

CANCEL: Final = """
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'cancel', '1')
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1
"""
"""Key: lease. Arguments: fence, the owner's channel, and what is published there."""

READERS: Final = (
    _WRITES_AFTER_TIME
    + """
if ARGV[2] == '0' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('PUBLISH', ARGV[3], ARGV[4])
  return 0
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[2])
return 1
"""
)
"""Key: readers. Arguments: a process, for how many ms its readers count (0: it has none any more), the owner's channel,
and what is published there then."""

_LINE: Final = (
    _WRITES_AFTER_TIME
    + """
local line, alive, closed = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function head()
  local first = redis.call('LINDEX', line, 0)
  while first and (tonumber(redis.call('HGET', alive, first)) or 0) < now do
    redis.call('LPOP', line)
    redis.call('HDEL', alive, first)
    first = redis.call('LINDEX', line, 0)
  end
  return first
end
"""
)
"""The tickets of a line, in the order in which they came. One whose time is over is dropped once it is the first."""

TURN: Final = (
    _LINE
    + """
local ticket, ms, closes = ARGV[1], ARGV[2], ARGV[3]
if redis.call('HEXISTS', alive, ticket) == 0 then redis.call('RPUSH', line, ticket) end
redis.call('HSET', alive, ticket, string.format('%.0f', now + ms))
redis.call('PEXPIRE', line, 2 * ms)
redis.call('PEXPIRE', alive, 2 * ms)
if head() ~= ticket then return 0 end
if closes == '1' then redis.call('SET', closed, ticket, 'PX', ms) end
return 1
"""
)
"""Keys: line, alive, closed. Arguments: ticket, its time in ms, whether it closes the thread. Gives 1 in its turn."""

LEAVE: Final = """
redis.call('LREM', KEYS[1], 0, ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
if redis.call('GET', KEYS[3]) == ARGV[1] then redis.call('DEL', KEYS[3]) end
redis.call('PUBLISH', ARGV[2], 'turn 0-0 0\\n')
return 1
"""
"""Keys: line, alive, closed. Arguments: ticket, channel."""

WAITING: Final = _LINE + "return head() and redis.call('LLEN', line) or 0"
"""Keys: line, alive, closed. How many have the turn, or wait for it."""
