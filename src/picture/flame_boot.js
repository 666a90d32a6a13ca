// SPDX-License-Identifier: MIT
// Boot: the rest of the script stands deflated in the page, for it is most of a small one. It runs as
// an element of its own, whose hash the page's policy names.
"use strict";

(async () => {
  const [bytes] = await readPlanes("script"), script = document.createElement("script");
  script.textContent = new TextDecoder().decode(bytes);
  document.body.append(script);
})().catch((error) => {
  document.getElementById("status").textContent = `This page is damaged: ${error.message}`;
  throw error;
});
