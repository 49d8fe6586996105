import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { NodeCircuitBreaker, type NodePermit } from './node-circuit-breaker.ts';

const never = new AbortController().signal;

describe('the circuit breaker for log requests to nodes', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Starts readers of one node's logs. Returns the permits they get. */
  function readers(breaker: NodeCircuitBreaker, count: number, node = 'n1'): NodePermit[] {
    const permits: NodePermit[] = [];
    for (let i = 0; i < count; i++) breaker.acquire(node, never).then((permit) => permit && permits.push(permit));
    return permits;
  }
  const settle = () => vi.advanceTimersByTimeAsync(0);

  test('one reader probes an unknown node, and the others follow once it answered', async () => {
    const permits = readers(new NodeCircuitBreaker(), 10);
    await settle();
    expect(permits.length).toBe(1);
    permits[0]!.succeeded();
    await settle();
    expect(permits.length).toBe(10);
  });

  test('an unreachable node is probed by one reader at a time, with growing pauses', async () => {
    const permits = readers(new NodeCircuitBreaker(), 100);
    await settle();
    for (let i = 0; i < 6; i++) {
      permits.at(-1)!.failed();
      await vi.advanceTimersByTimeAsync(3_000 * 2 ** i);
      expect(permits.length).toBe(i + 1);
      await vi.advanceTimersByTimeAsync(4_000 * 2 ** i);
      expect(permits.length).toBe(i + 2);
    }
  });

  test('a reader that leaves without an answer hands the probe to the next', async () => {
    const permits = readers(new NodeCircuitBreaker(), 3);
    await settle();
    permits[0]!.end();
    await settle();
    expect(permits.length).toBe(2);
  });

  test('a waiting reader that leaves gets no permit and blocks nobody', async () => {
    const breaker = new NodeCircuitBreaker();
    const [first] = readers(breaker, 1);
    const abort = new AbortController();
    const left = breaker.acquire('n1', abort.signal);
    await settle();
    abort.abort();
    expect(await left).toBeUndefined();
    expect(first).toBeUndefined(); // not yet settled when it was read
    const other = readers(breaker, 1, 'n2');
    await settle();
    expect(other.length).toBe(1);
  });

  test('readers of a healthy node do not all connect at once', async () => {
    const breaker = new NodeCircuitBreaker();
    const [first] = await Promise.all([breaker.acquire('n1', never)]);
    first!.succeeded();
    const permits = readers(breaker, 1_000);
    await settle();
    expect(permits.length).toBeLessThanOrEqual(32);
    for (let i = 0; i < permits.length; i++) {
      permits[i]!.succeeded();
      await settle();
    }
    expect(permits.length).toBe(1_000);
  });

  test('a node that fails stops readers that were about to ask it', async () => {
    const breaker = new NodeCircuitBreaker();
    const first = await breaker.acquire('n1', never);
    first!.succeeded();
    const permits = readers(breaker, 100);
    await settle();
    const asked = permits.length;
    for (const permit of permits.slice()) permit.failed();
    await settle();
    expect(permits.length).toBe(asked);
    await vi.advanceTimersByTimeAsync(7_000);
    expect(permits.length).toBe(asked + 1);
  });
});
