import { expect, test } from 'vitest';
import type { BatchId } from '../../../domain/batches/batch.ts';
import { BodyBudget } from '../../body-budget.ts';
import type { QueueCall } from '../queue-call.ts';
import { uploadRequests } from './upload-requests.ts';

const MB = 2 ** 20;

/** Uploads one request with an input of so many bytes; returns what happened, in order. */
async function upload(inputBytes: number): Promise<string[]> {
  const order: string[] = [];
  const findFault = () => {
    order.push('parsed');
    return null;
  };
  const uploadPace = {
    async run(_: string, store: () => Promise<void>) {
      order.push('turn');
      await store();
      order.push('rest');
    },
  };
  const plane = {
    ...{
      webhooks: { findFault },
      uploadPace,
      bodies: new BodyBudget(256 * MB, 1_000),
      limits: { runBodyBytes: 10 * MB },
    },
    pool: { query: async () => ({ rows: [{ received: 1, accepted: 1 }] }) },
  };
  const endpoint = { user: { limits: { requestBytes: null, queuedBytes: null } } };
  const call = { plane, endpoint, actor: { userId: 'u1' } } as unknown as QueueCall;
  const line = JSON.stringify({ input: 'x'.repeat(inputBytes), webhook: 'https://example.com' });
  const source = (async function* () {
    yield Buffer.from(line);
  })();
  const place = { id: 'b1' as BatchId, isLines: true, received: 0, accepted: 0, offset: null };
  expect(await uploadRequests(call, { ...place, source })).toMatchObject({ accepted: 1 });
  return order;
}

test('short lines are parsed before the turn, whose time is followed by a rest; a long line is parsed in it', async () => {
  expect(await upload(200)).toEqual(['parsed', 'turn', 'rest']);
  expect(await upload(MB)).toEqual(['turn', 'parsed', 'rest']);
});
