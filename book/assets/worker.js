// A session in a Worker: the module that `src/web` is, and nothing else. The page says requests as src/web/page.rs has them.
"use strict";

let exports = null;

/** The module, unpacked here: so it is as small on the way from a server that does not compress. */
async function load(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
  const unpacked = new Response(response.body.pipeThrough(new DecompressionStream("gzip")));
  const { instance } = await WebAssembly.instantiate(await unpacked.arrayBuffer(), {});
  exports = instance.exports;
}

function said(length) {
  return new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.answer(), length));
}

/** One request, and its answer. After a trap the module is of no more use: the panic's words are the error. */
function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const place = exports.request(bytes.length);
  new Uint8Array(exports.memory.buffer, place, bytes.length).set(bytes);
  try {
    return said(exports.run());
  } catch (trap) {
    throw new Error(said(exports.length()) || String(trap));
  }
}

let turn = Promise.resolve();
onmessage = ({ data: { id, load: address, request } }) => {
  turn = turn.then(async () => {
    try {
      if (address) await load(address);
      postMessage({ id, answer: request === undefined ? "" : ask(request), bytes: exports.memory.buffer.byteLength });
    } catch (error) {
      postMessage({ id, error: error.message });
    }
  });
};
