// SPDX-License-Identifier: MIT
// work.js: JSON, regular expressions, sorting with a callback and dictionaries, for ever.
'use strict';
const data = Array.from({length: 4000}, (_, i) => ({id: i, name: `user${i}`, tags: [i % 7, i % 11, i % 13], y: i / 4}));

function words(text) {
    const seen = new Map();
    for (const word of text.split(/[^a-z0-9]+/)) seen.set(word, (seen.get(word) || 0) + 1);
    return [...seen.entries()].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

function round(n) {
    const text = JSON.stringify(data), again = JSON.parse(text);
    const names = text.match(/"name":"(\w+?)(\d+)"/g).length;
    return n === 0 ? names : names + again.length + words(text).length + round(n - 1);
}

let total = 0;
setInterval(() => { total += round(3); }, 1);
