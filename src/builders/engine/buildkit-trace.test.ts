import { expect, test } from 'vitest';
import type { BuildEvent } from '../builder.ts';
import { BuildSteps } from './build-steps.ts';
import { readTrace } from './buildkit-trace.ts';

/** A field that is a message or a text. */
const field = (number: number, value: Buffer | string) => {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
};
const number = (of: number, value: number) => Buffer.from([of * 8, value]);
const at = (seconds: number) => number(1, seconds);
const vertex = (digest: string, name: string, ...more: Buffer[]) =>
  field(1, Buffer.concat([field(1, digest), field(3, name), ...more]));
const started = (seconds: number) => field(5, at(seconds));
const completed = (seconds: number) => field(6, at(seconds));

function read(...messages: Buffer[]) {
  const events: BuildEvent[] = [];
  const steps = new BuildSteps((event) => events.push(event));
  for (const message of messages) readTrace(message.toString('base64'), steps);
  return { events, steps };
}

test('a step begins once and ends once, however often the engine says so', () => {
  const running = vertex('a', '[1/2] RUN make', started(1));
  const done = vertex('a', '[1/2] RUN make', started(1), completed(2));
  const step = { kind: 'step', step: 'a', name: '[1/2] RUN make' };
  expect(read(running, running, done, done).events).toEqual([
    { ...step, state: 'RUNNING', at: new Date(1000) },
    { ...step, state: 'COMPLETED', at: new Date(2000) },
  ]);
});

test('one of the cache is CACHED, one of several stages too', () => {
  const { events } = read(vertex('a', '[build 2/3] COPY . .', started(1), completed(1), number(4, 1)));
  expect(events).toMatchObject([{ name: '[build 2/3] COPY . .', state: 'CACHED' }]);
});

test('what the engine does besides is shown only if it fails', () => {
  const name = '[internal] load metadata for docker.io/library/none:1';
  const { events, steps } = read(
    vertex('a', name, started(1)),
    vertex('b', 'exporting to image', started(1), completed(2)),
    vertex('a', name, started(1), completed(2), field(7, 'no such host')),
  );
  expect(events).toMatchObject([{ step: 'a', name: 'load metadata for docker.io/library/none:1', state: 'FAILED' }]);
  expect(steps.failed?.name).toBe('load metadata for docker.io/library/none:1');
});

test('the step that failed is the cause, not those that were cancelled for it', () => {
  const { steps } = read(
    vertex('a', '[a 1/1] RUN a', started(1), completed(2), field(7, 'context canceled')),
    vertex('b', '[b 1/1] RUN b', started(1), completed(2), field(7, 'exit code: 1')),
  );
  expect(steps.failed?.name).toBe('[b 1/1] RUN b');
});

test('lines are put together of pieces, by stream, and the last one needs no end', () => {
  const log = (stream: number, text: string) =>
    field(3, Buffer.concat([field(1, 'a'), field(2, at(3)), number(3, stream), field(4, text)]));
  const { events } = read(
    vertex('a', '[1/1] RUN a', started(1)),
    log(1, 'one, '),
    log(2, 'error\n'),
    log(1, 'two\nthree'),
    vertex('a', '[1/1] RUN a', started(1), completed(4)),
  );
  expect(events.flatMap((event) => (event.kind === 'line' ? [[event.stream, event.text]] : []))).toEqual([
    ['stderr', 'error'],
    ['stdout', 'one, two'],
    ['stdout', 'three'],
  ]);
});
