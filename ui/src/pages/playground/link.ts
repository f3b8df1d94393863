const MOST = 32 * 1024;
/** More than the server runs, in characters as JavaScript counts them. */
const MOST_TEXT = 2 * 256 * 1024;
const BLOCK = 8 * 1024;

/** The text, compressed, for the fragment of an address; null if it would be too long. */
export async function packed(text: string): Promise<string | null> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length > MOST) return null;
  const part = btoa(blocksOf(bytes).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
  return part.length <= MOST ? part : null;
}

/** The bytes as characters; one call accepts only so many of them. */
function blocksOf(bytes: Uint8Array): string[] {
  const blocks = [];
  for (let at = 0; at < bytes.length; at += BLOCK)
    blocks.push(String.fromCharCode(...bytes.subarray(at, at + BLOCK)));
  return blocks;
}

/** The text of a fragment; null if invalid, or more than the server would run. */
export async function unpacked(part: string): Promise<string | null> {
  try {
    const binary = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return await textOf(stream.getReader());
  } catch {
    return null;
  }
}

/** The text of a stream; throws once it is too much. */
async function textOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length > MOST_TEXT) {
      await reader.cancel();
      throw new RangeError("too much text");
    }
  }
  return text + decoder.decode();
}
