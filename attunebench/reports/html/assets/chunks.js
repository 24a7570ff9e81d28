// The page's own data: chunks of compressed JSON, opened when somebody looks.
const opened = new Map();
let about = null;

async function inflated(parts, format) {
  if (typeof DecompressionStream === "undefined") throw new Error("This browser is too old to show the details.");
  return new Response(new Blob(parts).stream().pipeThrough(new DecompressionStream(format))).arrayBuffer();
}

function bytesOf(holder) {
  return Uint8Array.from(atob(holder.textContent), (letter) => letter.charCodeAt(0));
}

// What the conversations of a layer share, as the stored block that begins a stream: [bytes, how many of them to drop].
function dictionary(layer) {
  const name = `dictionary-${layer}`;
  const holder = document.getElementById(`c-${name}`);
  if (!opened.has(name)) {
    opened.set(name, holder && inflated([bytesOf(holder)], "deflate").then((shared) => {
      const size = shared.byteLength;
      const head = Uint8Array.of(0, size & 255, size >> 8, ~size & 255, (~size >> 8) & 255);
      return [new Blob([head, shared]), size];
    }));
  }
  return opened.get(name);
}

async function unpacked(chunk) {
  const holder = document.getElementById(`c-${chunk}`);
  if (!holder) return null;
  const [shared, size] = (await dictionary(chunk.replace(/-.*/, ""))) ?? [null, 0];
  const bytes = bytesOf(holder);
  const whole = await (shared ? inflated([shared, bytes], "deflate-raw") : inflated([bytes], "deflate"));
  return JSON.parse(new TextDecoder().decode(new Uint8Array(whole, size)));
}

function content(chunk) {
  if (!opened.has(chunk)) opened.set(chunk, unpacked(chunk));
  return opened.get(chunk);
}

// The same for a look in passing: what nobody opens is not kept.
function glance(chunk) {
  return opened.get(chunk) ?? unpacked(chunk);
}

// Time for the browser to draw and to take input, wherever something goes on for long.
let rested = 0;
async function rest() {
  if (performance.now() - rested < 30) return;
  await new Promise((done) => setTimeout(done));
  rested = performance.now();
}
