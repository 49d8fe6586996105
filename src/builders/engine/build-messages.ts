import type { Readable } from 'node:stream';
import { type BuildMessage, BuildRefusal } from './build-plan.ts';

/** An engine may make one message of a line that a step prints, however long it is. */
const MAX_MESSAGE_BYTES = 16 * 2 ** 20;

/** Yields the messages of an engine about a build. Throws a BuildRefusal when one says that it failed, or is longer than 16 MiB. */
export async function* readMessages(answer: Readable): AsyncGenerator<BuildMessage> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield* parse(Buffer.concat([...rest, chunk.subarray(from, end)]));
      rest = [];
      restBytes = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    rest.push(chunk.subarray(from));
    restBytes += chunk.length - from;
    if (restBytes > MAX_MESSAGE_BYTES) throw new BuildRefusal('it printed a line of more than 16 MiB');
  }
  yield* parse(Buffer.concat(rest));
}

function* parse(line: Buffer): Generator<BuildMessage> {
  const text = line.toString().trim();
  if (text === '') return;
  const message = JSON.parse(text) as BuildMessage;
  if (message.error !== undefined) throw new BuildRefusal(message.error);
  yield message;
}
