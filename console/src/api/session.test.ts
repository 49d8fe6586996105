import { beforeEach, expect, test, vi } from 'vitest';

const KEY = 'podyard-session';

let stored: Map<string, string>;
let browser: EventTarget;
beforeEach(() => {
  vi.resetModules();
  stored = new Map([[KEY, 'abc.def']]);
  browser = new EventTarget();
  vi.stubGlobal('window', browser);
  vi.stubGlobal('location', { hash: '' });
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
    removeItem: (name: string) => stored.delete(name),
  });
  return () => vi.unstubAllGlobals();
});

const otherTab = (newValue: string | null) =>
  browser.dispatchEvent(Object.assign(new Event('storage'), { key: KEY, newValue }));

test('a sign-out is told once, however many answers say that the session has ended', async () => {
  const { forgetSession, onSignedOut, signIn } = await import('./session.ts');
  const told = vi.fn();
  onSignedOut(told);
  otherTab(null); // it has signed out
  forgetSession('The session has ended.'); // a request that was under way: the page for signing in is there already
  expect(told).toHaveBeenCalledTimes(1);
  signIn({ id: 'ghi', token: 'jkl' });
  forgetSession();
  expect(told).toHaveBeenCalledTimes(2);
});

test('nobody is told who opens the page signed out', async () => {
  stored.clear();
  const { forgetSession, onSignedOut } = await import('./session.ts');
  const told = vi.fn();
  onSignedOut(told);
  forgetSession('The key is wrong.');
  expect(told).not.toHaveBeenCalled();
});
