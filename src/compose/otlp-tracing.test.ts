import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import type { TracingSettings } from '../config/tracing-settings.ts';
import { silentLogger } from '../core/logger.ts';
import type { SpanOptions, Tracing } from '../core/tracing.ts';
import { startOtlpTracing } from './otlp-tracing.ts';

const SAMPLED = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b' };
const UNSAMPLED = { ...SAMPLED, traceparent: SAMPLED.traceparent.replace(/01$/, '00') };
const SETTINGS: TracingSettings = {
  sampler: 'always_on',
  isParentBased: true,
  ratio: 1,
  delayMs: 3_600_000,
  timeoutMs: 1_000,
};
const SPAN: SpanOptions = { name: 'x', kind: 'server', parent: null, attributes: { 'podyard.job.id': 'j' } };

let tracing: Tracing | undefined;
let collector: Server | undefined;
afterEach(async () => {
  await tracing?.stop();
  collector?.closeAllConnections();
  collector?.close();
  vi.unstubAllEnvs();
});

/** Starts a collector; resolves with the bodies it gets, one per request. */
async function collect(): Promise<string[]> {
  const received: string[] = [];
  collector = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    received.push(Buffer.concat(chunks).toString());
    res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  const { port } = collector.address() as AddressInfo;
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`);
  return received;
}

test('stop flushes the remaining spans, with the service name', async () => {
  const received = await collect();
  vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test');
  tracing = startOtlpTracing(SETTINGS, silentLogger);
  tracing.record({ ...SPAN, fromMs: 1_800_000_000_000, toMs: 1_800_000_000_500.5, hasFailed: true });
  await tracing.stop();
  const [{ resource, scopeSpans }] = JSON.parse(received[0]!).resourceSpans;
  const names = Object.fromEntries(
    resource.attributes.map(({ key, value }: { key: string; value: { stringValue: string } }) => [
      key,
      value.stringValue,
    ]),
  );
  expect(names).toMatchObject({ 'service.name': 'podyard', 'deployment.environment.name': 'test' });
  expect(scopeSpans[0].spans[0]).toMatchObject({
    name: 'x',
    startTimeUnixNano: '1800000000000000000',
    endTimeUnixNano: '1800000000500500000',
    status: { code: 2 },
  });
});

test("a span continues its parent's trace and state with its own id", async () => {
  await collect();
  tracing = startOtlpTracing(SETTINGS, silentLogger);
  const { context } = tracing.begin({ ...SPAN, parent: SAMPLED });
  expect(context?.tracestate).toBe('a=b');
  expect(context?.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/);
});

test('an unsampled context of the client is not recorded but propagated; without a client’s context nothing is', async () => {
  const received = await collect();
  tracing = startOtlpTracing({ ...SETTINGS, sampler: 'traceidratio', ratio: 0 }, silentLogger);
  const unsampled = tracing.begin({ ...SPAN, parent: UNSAMPLED });
  expect(unsampled.context?.traceparent).toMatch(/-00$/);
  const root = tracing.begin(SPAN);
  expect(root.context).toBeNull();
  for (const span of [unsampled, root]) span.end(false);
  await tracing.stop();
  expect(received).toEqual([]);
});

test('an unreachable collector costs at most one log line, and a moment at the stop', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://canary:canary@127.0.0.1:1');
  const warned: string[] = [];
  const logger = { ...silentLogger, warn: (_fields: object, message: string) => warned.push(message) };
  tracing = startOtlpTracing(SETTINGS, logger);
  for (let i = 0; i < 3; i++) tracing.begin(SPAN).end(false);
  await tracing.stop();
  expect(warned.length).toBeLessThanOrEqual(1);
  expect(warned.join()).not.toContain('canary');
});
