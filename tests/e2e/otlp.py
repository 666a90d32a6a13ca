#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""OTLP profiles, decoded by protoc: each value is a profile whose samples are those of the pprof file that it was made
of, with stacks, names, labels and times; entry 0 of each table is empty. protoc reports texts that are no UTF-8.
"""
import collections
import gzip
import os
import pathlib
import re
import shutil
import subprocess

from checks import check, finish, run, skip
from pprof_decode import Profile
from pprof_encode import message, number, packed, text

CAIRN = os.environ["CAIRN"]
CORPUS = pathlib.Path(os.environ["SRC"]) / "tests/data/corpus"

# opentelemetry-proto 1.11: collector/profiles/v1development, profiles/v1development, common/v1, resource/v1.
PROTO = """
syntax = "proto3";
message Request { repeated ResourceProfiles resource_profiles = 1; Dictionary dictionary = 2; }
message ResourceProfiles { Resource resource = 1; repeated ScopeProfiles scope_profiles = 2; string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeProfiles { Scope scope = 1; repeated Profile profiles = 2; string schema_url = 3; }
message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
message Profile {
  ValueType sample_type = 1; repeated Sample samples = 2; fixed64 time_unix_nano = 3; uint64 duration_nano = 4;
  ValueType period_type = 5; int64 period = 6; bytes profile_id = 7; uint32 dropped_attributes_count = 8;
  string original_payload_format = 9; bytes original_payload = 10; repeated int32 attribute_indices = 11;
}
message ValueType { int32 type_strindex = 1; int32 unit_strindex = 2; }
message Sample {
  int32 stack_index = 1; repeated int32 attribute_indices = 2; int32 link_index = 3; repeated int64 values = 4;
  repeated fixed64 timestamps_unix_nano = 5;
}
message Dictionary {
  repeated Mapping mapping_table = 1; repeated Location location_table = 2; repeated Function function_table = 3;
  repeated Link link_table = 4; repeated string string_table = 5; repeated KeyValueAndUnit attribute_table = 6;
  repeated Stack stack_table = 7;
}
message Mapping {
  uint64 memory_start = 1; uint64 memory_limit = 2; uint64 file_offset = 3; int32 filename_strindex = 4;
  repeated int32 attribute_indices = 5;
}
message Location {
  int32 mapping_index = 1; uint64 address = 2; repeated Line lines = 3; repeated int32 attribute_indices = 4;
}
message Line { int32 function_index = 1; int64 line = 2; int64 column = 3; }
message Function { int32 name_strindex = 1; int32 system_name_strindex = 2; int32 filename_strindex = 3; int64 start_line = 4; }
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Stack { repeated int32 location_indices = 1; }
message KeyValueAndUnit { int32 key_strindex = 1; AnyValue value = 2; int32 unit_strindex = 3; }
message KeyValue { string key = 1; AnyValue value = 2; int32 key_strindex = 3; }
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5;
    KeyValueList kvlist_value = 6; bytes bytes_value = 7; int32 string_value_strindex = 8;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
"""


class Node(collections.defaultdict):
    """A message: lists of values and messages by name."""

    def __init__(self):
        super().__init__(list)

    def one(self, name, default=0):
        return self[name][0] if self[name] else default


def decode(data):
    pathlib.Path("otlp.proto").write_text(PROTO, encoding="ascii")
    done = subprocess.run(["protoc", "--decode=Request", "otlp.proto"], input=data, capture_output=True, check=False)
    errors = [line for line in done.stderr.decode().splitlines() if "Unused" not in line]
    check(done.returncode == 0 and not errors, f"protoc: {done.returncode} {errors}")
    root = Node()
    open_nodes = [root]
    for line in done.stdout.decode().splitlines():
        line = line.strip()
        if line.endswith("{"):
            node = Node()
            open_nodes[-1][line[:-1].strip()].append(node)
            open_nodes.append(node)
        elif line == "}":
            open_nodes.pop()
        else:
            name, _, value = line.partition(": ")
            check(not re.fullmatch(r"\d+", name), f"protoc does not know field {name} of a message")
            raw = value[1:-1].encode().decode("unicode_escape").encode("latin-1") if value[0] == '"' else None
            open_nodes[-1][name].append(int(value) if raw is None else raw.decode("utf-8", "replace"))
    return root


def attributes(dictionary, indices):
    found = {}
    for index in indices:
        row = dictionary["attribute_table"][index]
        value = row.one("value", Node())
        key = dictionary["string_table"][row.one("key_strindex")]
        check(index and key not in found, f"attribute {key} twice, or number 0")
        found[key] = value.one("string_value", None) or value.one("int_value", None)
    return found


def samples_of(request, profile):
    """(stack as functions or addresses, thread id) -> sum; and all times."""
    dictionary = request.one("dictionary")
    texts, sums, times = dictionary["string_table"], collections.Counter(), []
    for sample in profile["samples"]:
        stack = []
        for index in dictionary["stack_table"][sample.one("stack_index")]["location_indices"]:
            location = dictionary["location_table"][index]
            names = [texts[dictionary["function_table"][line.one("function_index")].one("name_strindex")]
                     for line in location["lines"]]
            stack.append(tuple(names) or location.one("address"))
        labels = attributes(dictionary, sample["attribute_indices"])
        if sample["timestamps_unix_nano"]:
            check(len(sample["timestamps_unix_nano"]) == len(sample["values"]), "a time for each value")
        sums[tuple(stack), labels.get("thread.id")] += sum(sample["values"])
        times += sample["timestamps_unix_nano"]
    return sums, times


def theirs(pprof, kind):
    sums = collections.Counter()
    for sample in pprof.samples:
        stack = tuple(tuple(pprof.functions_at(location)) or pprof.locations[location][1] for location in sample.stack)
        if sample.values[kind]:
            sums[stack, sample.labels.get("tid")] += sample.values[kind]
    return sums


def same(case, source, *options):
    """What one command writes as both: the same samples, value by value."""
    run(CAIRN, "convert", source, "-f", "-o", f"{case}.otlp", *options)
    run(CAIRN, "convert", source, "-f", "-o", f"{case}.otlp.gz", *options)
    data = pathlib.Path(f"{case}.otlp").read_bytes()
    check(gzip.decompress(pathlib.Path(f"{case}.otlp.gz").read_bytes()) == data, f"{case}: packed it is the same")
    run(CAIRN, "resolve", source, "-f", "-o", f"{case}.pb.gz")
    pprof, request = Profile(f"{case}.pb.gz"), decode(data)
    dictionary = request.one("dictionary")
    for table in ("mapping", "location", "function", "attribute", "stack"):
        check(not any(dictionary[f"{table}_table"][0].values()), f"{case}: entry 0 of {table}")
    check(dictionary["string_table"][0] == "", f"{case}: text 0")
    check(dictionary["link_table"][0].one("trace_id") == "\0" * 16, f"{case}: link 0")
    scope_profiles = request.one("resource_profiles").one("scope_profiles")
    check(scope_profiles.one("scope").one("name") == "cairn", f"{case}: the scope")
    times = []
    check(len(scope_profiles["profiles"]) == len(pprof.types), f"{case}: a profile for each type")
    for kind, profile in enumerate(scope_profiles["profiles"]):
        sums, times = samples_of(request, profile)
        name = dictionary["string_table"][profile.one("sample_type").one("type_strindex")]
        check(name == pprof.strings[pprof.types[kind]], f"{case}: type {name}")
        check(sums == theirs(pprof, kind), f"{case}: {name}: {sums} is not {theirs(pprof, kind)}")
    return request, times


def odd_texts():
    """Bytes that are no UTF-8, in a name and in a label."""
    strings = ["", "n", "count", "thread"]
    data = message(1, number(1, 1), number(2, 2)) + message(2, packed(1, 1), packed(2, 7), message(3, number(1, 3), number(2, 4)))
    data += message(4, number(1, 1), message(4, number(1, 1))) + message(5, number(1, 1), number(2, 5))
    data += b"".join(text(6, part) for part in strings) + message(6, b"a\xff\"") + message(6, b"\xc3\x28name")
    pathlib.Path("odd.pb").write_bytes(data)
    run(CAIRN, "convert", "odd.pb", "-f", "-o", "odd.otlp")
    dictionary = decode(pathlib.Path("odd.otlp").read_bytes()).one("dictionary")
    check("\ufffd(name" in dictionary["string_table"], f"odd texts: {dictionary['string_table']}")


def main():
    if not shutil.which("protoc"):
        skip("protoc is missing (protobuf-compiler)")
    same("rich", CORPUS / "pprof/rich")
    same("fp", CORPUS / "perf_data/fp.data")
    if shutil.which("perf"):
        done = subprocess.run(["perf", "record", "-q", "-k", "mono", "-F", "499", "-g", "-o", "timed.data", "--", "sh", "-c",
                               "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"], capture_output=True, check=False)
        if done.returncode == 0:
            request, times = same("timed", "timed.data")
            host = request.one("resource_profiles").one("resource")["attributes"]
            check(os.uname().nodename in [row.one("value").one("string_value") for row in host], "the host's name")
            check(times and min(times) > 1700000000 * 10**9, f"times since 1970: {times[:3]}")
    odd_texts()


main()
finish("OTLP profiles, decoded by protoc")
