"use strict";
// The large parts of the page are compressed. This script unpacks them in their order, and thus runs those that are scripts.

(async () => {
  async function unpack(part) {
    const bytes = Uint8Array.from(atob(part.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const text = await new Response(stream).text();
    part.replaceWith(Object.assign(document.createElement("script"), { id: part.id, type: part.dataset.type, text }));
  }

  try {
    for (const part of document.querySelectorAll("[type='application/gzip']")) await unpack(part);
  } catch {
    document.getElementById("packed").hidden = false;
  }
})();
