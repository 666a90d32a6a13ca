#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""work.py: JSON, regular expressions and dictionaries, five times over."""
import json, random, re

random.seed(1)
data = [{"id": i, "name": f"user{i}", "tags": [f"t{random.randrange(100)}" for _ in range(5)],
         "pos": {"x": random.random(), "y": i * 0.25}} for i in range(12000)]
names = re.compile(r'"name": "(\w+?)(\d+)"')
total = 0
for _ in range(5):
    text = json.dumps(data)
    again = json.loads(text)
    total += sum(len(a) + len(b) for a, b in names.findall(text))
    words = {}
    for word in text.split():
        words[word] = words.get(word, 0) + 1
    total += len(words) + sum(len(str(x["id"]) + x["name"].upper()) for x in again)
print(total)
