import { once } from 'node:events';
import { expect, test } from 'vitest';
import { FakeApiServer, fakeObject, openWatch, sendList } from '../../../../test/fake-api-server.ts';
import { silentLogger } from '../../../core/logger.ts';
import { PodEvents } from './pod-events.ts';

let version = 1;

function podEvent(podUid: string, reason: string, message: string): object {
  version += 1;
  return {
    ...fakeObject(`event-${version}`, version),
    involvedObject: { name: 'podyard-a', uid: podUid },
    reason,
    message,
  };
}

test('an event that comes before the create is answered is reported after it, and none of an earlier pod', async () => {
  const watch = Promise.withResolvers<(type: string, object: object) => void>();
  const fake = await FakeApiServer.start((url, response) => {
    if (url.searchParams.has('watch')) watch.resolve(openWatch(response));
    else sendList(response, [], '1');
  });
  const events = new PodEvents({ api: fake.api, path: '/api/v1/events', logger: silentLogger });
  try {
    const progress = events.follow('podyard-a');
    const sendEvent = await watch.promise;
    sendEvent('ADDED', podEvent('old', 'Started', ''));
    sendEvent('ADDED', podEvent('new', 'Scheduled', 'Successfully assigned default/podyard-a to node-1'));
    const other = new EventTarget();
    const seen = once(other, 'seen');
    const follower = events.follow('podyard-b');
    follower.report('b', () => other.dispatchEvent(new Event('seen')));
    sendEvent('ADDED', { ...podEvent('b', 'Created', ''), involvedObject: { name: 'podyard-b', uid: 'b' } });
    await seen;

    const lines: string[] = [];
    const pulled = Promise.withResolvers<void>();
    progress.report('new', (line) => {
      lines.push(line);
      if (line.startsWith('Container image')) pulled.resolve();
    });
    expect(lines).toEqual(['Assigned to node node-1']);
    sendEvent('ADDED', podEvent('new', 'Scheduled', 'Successfully assigned default/podyard-a to node-1'));
    sendEvent('ADDED', podEvent('new', 'Pulled', 'Container image "echo" already present on machine'));
    await pulled.promise;
    expect(lines).toEqual(['Assigned to node node-1', 'Container image echo already present on machine']);
    expect(progress.last.reason).toBe('Pulled');
  } finally {
    events.close();
    await fake.close();
  }
});
