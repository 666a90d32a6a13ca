-- SPDX-License-Identifier: MIT
-- A program that says what it runs: each function f_N enters N first and leaves it last, so that a stack
-- that is read from outside can be held against the truth (guest_stops.c).
local sh = require "shadow"
local enter, leave, ccall, cpcall = sh.enter, sh.leave, sh.ccall, sh.cpcall
local yield, wrap = coroutine.yield, coroutine.wrap
local function spin(n) local x = 0 for i = 1, n do x = x * 1.0001 + i end return x end
local function f_1(n) enter(1)
  spin(n)
  leave() return 1 end
local function f_2(a, b) enter(2)
  f_1(150)
  leave() return a < b end
local function f_3() enter(3)
  local t = {} for i = 1, 12 do t[i] = (i * 7919) % 13 end
  table.sort(t, f_2)
  leave() return 1 end
local function f_4(w) enter(4)
  f_1(200)
  leave() return w end
local function f_5() enter(5)
  local s = string.gsub("ab cd ef", "%w+", f_4)
  leave() return s end
local function f_6(t, k) enter(6)
  f_1(300)
  leave() return k end
local function f_7(a, b) enter(7)
  f_3()
  leave() return 7 end
local obj = setmetatable({}, { __index = f_6, __add = f_7, __concat = f_7, __lt = f_7, __call = f_7 })
local function f_8() enter(8)
  local z = obj.foo; z = obj + 1; z = obj .. "x"; z = obj(1)
  leave() return 1 end
local function f_9() enter(9)
  error("boom") end
local function f_10() enter(10)
  local d = sh.depth() local ok = pcall(f_9) sh.depth(d)
  f_1(100)
  leave() return 1 end
local function f_11() enter(11)
  f_1(200) leave() yield(1) enter(11) f_5() leave() yield(2) enter(11)
  pcall(f_8)
  leave() return 1 end
local function f_12() enter(12)
  local c = wrap(f_11) c() f_1(80) c() f_1(80) c()
  leave() return 1 end
local function f_13() enter(13)
  local c = wrap(f_12) c()
  leave() return 1 end
local function f_14(n) enter(14)
  if n > 0 then f_14(n - 1) else f_3() end
  leave() return 1 end
local function f_15() enter(15)
  ccall(f_5) cpcall(f_12) ccall(f_10)
  leave() return 1 end
local function f_16(n) enter(16)
  f_1(50) leave() if n > 0 then return f_16(n - 1) end return 1 end
local function f_17() enter(17)
  f_13() f_14(20) f_15() f_16(5) for i = 1, 20 do f_1(50) end
  leave() return 1 end
local function f_18(...) enter(18)
  f_17(...) pcall(f_17) pcall(pcall, f_17) local a = select("#", ...)
  leave() return a end
while true do f_18(1, 2, 3) ccall(f_17) end
