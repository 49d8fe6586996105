import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../../core/logger.ts';
import { LABELS } from './container-config.ts';
import { watchContainers } from './container-events.ts';

const event = (Action: string, id: string) =>
  `${JSON.stringify({ Action, Actor: { Attributes: { [LABELS.id]: id } } })}\n`;

test('ends and freezes are reported; starts and health checks are not', async () => {
  const texts = [event('create', 'a'), event('start', 'b'), event('exec_start: true', 'c'), event('pause', 'd')];
  const ended = new AbortController();
  const reported: string[] = [];
  const engine = { stream: async () => Readable.from([...texts, event('die', 'e')]) };
  const onEvent = (id: string) => {
    reported.push(id);
    if (id === 'e') ended.abort();
  };
  await watchContainers(engine, {
    installation: 'i',
    onEvent,
    onReturn: () => {},
    ended: ended.signal,
    logger: silentLogger,
  });
  expect(reported).toEqual(['d', 'e']);
});

test('an engine that is away has one line in the log, and its return is reported', async () => {
  const ended = new AbortController();
  const lines: string[] = [];
  let attempts = 0;
  const engine = {
    stream: async () => {
      attempts += 1;
      if (attempts > 1 && attempts < 5)
        throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      return Readable.from([]);
    },
  };
  const logger = { ...silentLogger, warn: (_: object, text: string) => lines.push(text) } as Logger;
  let attemptsAtReturn = 0;
  const onReturn = () => {
    attemptsAtReturn = attempts;
    ended.abort();
  };
  await watchContainers(engine, { installation: 'i', onEvent: () => {}, onReturn, ended: ended.signal, logger });
  expect(attemptsAtReturn).toBe(5);
  const line = 'container engine event stream ended: connect ECONNREFUSED';
  expect(lines).toEqual([line, line]); // at once, and at the end with the count
});
