import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type NodeTurn, NodeTurns } from './node-turns.ts';

const never = new AbortController().signal;

describe('whose turn it is to ask a node for logs', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Readers of one node's logs, and the turns that they have got. */
  function readers(turns: NodeTurns, count: number, node = 'n1'): NodeTurn[] {
    const got: NodeTurn[] = [];
    for (let i = 0; i < count; i++) turns.take(node, never).then((turn) => turn && got.push(turn));
    return got;
  }
  const settle = () => vi.advanceTimersByTimeAsync(0);

  test('one reader asks a node that nobody has heard of, and all others when it answered', async () => {
    const got = readers(new NodeTurns(), 10);
    await settle();
    expect(got.length).toBe(1);
    got[0]!.heard();
    await settle();
    expect(got.length).toBe(10);
  });

  test('a node that cannot be reached is asked by one of its readers at a time, and less and less often', async () => {
    const got = readers(new NodeTurns(), 100);
    await settle();
    for (let i = 0; i < 6; i++) {
      got.at(-1)!.failed();
      await vi.advanceTimersByTimeAsync(3_000 * 2 ** i);
      expect(got.length).toBe(i + 1);
      await vi.advanceTimersByTimeAsync(4_000 * 2 ** i);
      expect(got.length).toBe(i + 2);
    }
  });

  test('whoever goes without an answer leaves the question to the next one', async () => {
    const got = readers(new NodeTurns(), 3);
    await settle();
    got[0]!.end();
    await settle();
    expect(got.length).toBe(2);
  });

  test('a reader that leaves while it waits gets no turn and holds up nobody', async () => {
    const turns = new NodeTurns();
    const [first] = readers(turns, 1);
    const abort = new AbortController();
    const left = turns.take('n1', abort.signal);
    await settle();
    abort.abort();
    expect(await left).toBeUndefined();
    expect(first).toBeUndefined(); // it had none yet when it was looked at
    const other = readers(turns, 1, 'n2');
    await settle();
    expect(other.length).toBe(1);
  });

  test('readers of a node that answers do not all open a connection at the same moment', async () => {
    const turns = new NodeTurns();
    const [first] = await Promise.all([turns.take('n1', never)]);
    first!.heard();
    const got = readers(turns, 1_000);
    await settle();
    expect(got.length).toBeLessThanOrEqual(32);
    for (let i = 0; i < got.length; i++) {
      got[i]!.heard();
      await settle();
    }
    expect(got.length).toBe(1_000);
  });

  test('a node that falls silent stops those that were about to ask it', async () => {
    const turns = new NodeTurns();
    const first = await turns.take('n1', never);
    first!.heard();
    const got = readers(turns, 100);
    await settle();
    const asked = got.length;
    for (const turn of got.slice()) turn.failed();
    await settle();
    expect(got.length).toBe(asked);
    await vi.advanceTimersByTimeAsync(7_000);
    expect(got.length).toBe(asked + 1);
  });
});
