import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { silentLogger } from '../../core/logger.ts';
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
  await watchContainers(engine, 'i', onEvent, ended.signal, silentLogger);
  expect(reported).toEqual(['d', 'e']);
});
