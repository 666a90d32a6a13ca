#!/bin/bash
# SPDX-License-Identifier: MIT
# The cases of symbolize_cases.sh on programs for other CPUs: files alone are enough, none is run.
CPUS="aarch64 arm" exec bash "$SRC/tests/e2e/symbolize_cases.sh"
