import type { Readable } from 'node:stream';
import { type BuildMessage, BuildRefusal } from './build-plan.ts';

/** Yields the messages of an engine about a build. Throws a BuildRefusal when one says that it failed. */
export async function* readMessages(answer: Readable): AsyncGenerator<BuildMessage> {
  let rest: Buffer[] = [];
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield* parse(Buffer.concat([...rest, chunk.subarray(from, end)]));
      rest = [];
      from = end + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
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
