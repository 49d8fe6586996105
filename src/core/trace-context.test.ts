import { expect, test } from 'vitest';
import { findTraceContext, keepTraceContext, readTraceContext } from './trace-context.ts';

const ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const PARENT = `00-${ID}-${SPAN}-01`;

test('a valid traceparent is accepted, with its state', () => {
  expect(readTraceContext({ traceparent: PARENT })).toEqual({ traceparent: PARENT, tracestate: null });
  expect(readTraceContext({ traceparent: PARENT, tracestate: 'a=1,b="2"' })?.tracestate).toBe('a=1,b="2"');
});

test('of a later version, the known part is accepted', () => {
  expect(readTraceContext({ traceparent: `01-${ID}-${SPAN}-00-more` })?.traceparent).toBe(`00-${ID}-${SPAN}-00`);
});

test.each([
  undefined,
  '',
  'x',
  `${PARENT}-more`,
  `ff-${ID}-${SPAN}-01`,
  `00-${ID.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${ID}-${'0'.repeat(16)}-01`,
  `${PARENT}, ${PARENT}`,
  `${PARENT}\n`,
])('%j is ignored, as the standard says', (traceparent) => {
  expect(readTraceContext({ traceparent })).toBeNull();
});

test.each(['', 'a'.repeat(513), 'a=\u0001', 'a=ä'])('the state %j is dropped, the parent stays', (tracestate) => {
  expect(readTraceContext({ traceparent: PARENT, tracestate })).toEqual({ traceparent: PARENT, tracestate: null });
});

test('a context stored with a job is found again, before other extras, as valid JSON for its worker', () => {
  const context = { traceparent: PARENT, tracestate: 'a="\\1"' };
  for (const extras of [null, '"s3Config":{"traceparent":"no"}']) {
    const kept = keepTraceContext(context, extras);
    expect(findTraceContext(kept)).toEqual(context);
    expect(JSON.parse(`{${kept}}`)).toMatchObject({ ...context, ...(extras ? JSON.parse(`{${extras}}`) : {}) });
    expect(findTraceContext(extras)).toBeNull();
  }
  expect(findTraceContext(keepTraceContext({ traceparent: PARENT, tracestate: null }, null))).toEqual({
    traceparent: PARENT,
    tracestate: null,
  });
});
