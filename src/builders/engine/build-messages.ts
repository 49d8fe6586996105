import type { Readable } from 'node:stream';
import { type BuildMessage, BuildRefusal } from './build-plan.ts';

/** An engine may make one message of a line that a step prints, however long it is. */
const MAX_MESSAGE_BYTES = 16 * 2 ** 20;
/** The rest of a longer text of a step is dropped as it arrives: the line would be cut in any case. */
const MAX_TEXT_BYTES = 64 * 1024;
const TEXT = Buffer.from('{"stream":"');

/**
 * Yields the messages of an engine about a build, long texts of steps cut. Throws a BuildRefusal when one says that it failed, or is
 * another one of more than 16 MiB.
 */
export async function* readMessages(answer: Readable): AsyncGenerator<BuildMessage> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  const isLongText = () => bytes > MAX_TEXT_BYTES && pieces[0]!.subarray(0, TEXT.length).equals(TEXT);
  const add = (piece: Buffer) => {
    if (piece.length === 0) return;
    if (pieces[0] && pieces[0].length < TEXT.length) pieces = [Buffer.concat(pieces)];
    if (!isLongText()) pieces.push(piece);
    bytes += piece.length;
  };
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      add(chunk.subarray(from, end));
      yield* parse(Buffer.concat(pieces), bytes > 0 && isLongText());
      pieces = [];
      bytes = 0;
      from = end + 1;
    }
    add(chunk.subarray(from));
    if (bytes > MAX_MESSAGE_BYTES && !isLongText()) throw new BuildRefusal('it printed a line of more than 16 MiB');
  }
  yield* parse(Buffer.concat(pieces), bytes > 0 && isLongText());
}

function* parse(line: Buffer, isLongText: boolean): Generator<BuildMessage> {
  const text = isLongText ? cut(line) : line.toString().trim();
  if (text === '') return;
  const message = JSON.parse(text) as BuildMessage;
  if (message.error !== undefined) throw new BuildRefusal(message.error);
  yield message;
}

/** Returns the beginning of a text's message as a whole one, without an escape that the cut goes through. */
function cut(line: Buffer): string {
  const text = line.toString('utf8', 0, MAX_TEXT_BYTES).replace(/\\(?:u[0-9a-f]{0,3})?$/i, '');
  return `${text}\\n"}`;
}
