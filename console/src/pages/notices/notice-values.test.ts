import { expect, test } from 'vitest';
import { NOTICE_EVENTS } from '../../../../src/domain/notices/notice.ts';
import {
  createBody,
  deliveryText,
  destinationForm,
  destinationSummary,
  EVENTS,
  eventsOf,
  eventsText,
  stateOf,
  updateBody,
} from './notice-values.ts';

test('every event has a label', () => {
  expect(EVENTS.map(({ value }) => value)).toEqual([...NOTICE_EVENTS]);
});

test('a form becomes a body: an address for mail, a URL for all else', () => {
  const form = { ...destinationForm('ACCOUNT'), name: ' me ', email: ' me@example.com ' };
  expect(createBody('ACCOUNT', form)).toEqual({
    ...{ name: 'me', kind: 'EMAIL', scope: 'ACCOUNT', email: 'me@example.com', waitMinutes: 10 },
    events: ['ENDPOINT_FAILING', 'WAITING_FOR_CAPACITY', 'QUEUE_SLOW', 'BUDGET', 'KEY_EXPIRES'],
  });
  expect(createBody('INSTALLATION', destinationForm('INSTALLATION')).events).toContain('DISK');
});

test('an empty URL leaves what is stored', () => {
  const form = { ...destinationForm('ACCOUNT'), kind: 'SLACK' as const, isEnabled: false };
  expect(updateBody(form)).not.toHaveProperty('url');
  expect(updateBody({ ...form, url: 'https://example.com' })).toMatchObject({
    url: 'https://example.com',
    enabled: false,
  });
});

test('states and messages in words', () => {
  expect(stateOf({ enabled: true, lastError: null })).toBe('OK');
  expect(stateOf({ enabled: true, lastError: 'x' })).toBe('FAILING');
  expect(stateOf({ enabled: false, lastError: 'x' })).toBe('OFF');
  const item = { event: 'ENDPOINT_FAILING', phase: 'ENDED', name: 'llm', owner: null, detail: '' } as const;
  expect(deliveryText({ items: [item], more: 2 })).toBe('An endpoint fails: llm (over), 2 more');
});

test('the list says what a destination is told of, in short where it is all', () => {
  expect(eventsText('ACCOUNT', ['KEY_EXPIRES', 'ENDPOINT_FAILING'])).toBe('An endpoint fails, a key expires soon');
  expect(
    eventsText(
      'ACCOUNT',
      eventsOf('ACCOUNT').map(({ value }) => value),
    ),
  ).toBe('Everything');
});

test('a destination says what it is told of, after how long, and how it is sent', () => {
  const form = destinationForm('ACCOUNT');
  expect(destinationSummary('ACCOUNT', { ...form, waitMinutes: 1 }).facts.map(({ value }) => value)).toEqual([
    'Everything',
    'the records of this account',
    'told after 1 minute',
    'by email, what is alike in one',
  ]);
  const { facts, warning } = destinationSummary('INSTALLATION', {
    ...form,
    kind: 'WEBHOOK',
    events: ['DISK'],
    isEnabled: false,
  });
  expect(facts.map(({ value }) => value)).toEqual([
    'The disk is nearly full',
    'all records, and the installation',
    'as JSON, signed with a secret that is shown once',
  ]);
  expect(warning).toBe('It is off: nothing is sent to it.');
});
