import { expect, test } from 'vitest';
import {
  describeHardware,
  describeMounts,
  fromFieldValue,
  lifetimeSummary,
  lifetimeText,
  type Pod,
  podActions,
  portRows,
  portUrl,
  toFieldValue,
} from './pod-details.ts';

test('hardware is described by GPUs, else by vCPUs and memory', () => {
  expect(describeHardware({ gpu: { id: 'NVIDIA L4', count: 2 } })).toBe('2 × NVIDIA L4');
  expect(describeHardware({ cpu: { id: 'cpu3c', vcpuCount: 4, memory: 16 } })).toBe('4 vCPU, 16 GB');
  expect(describeHardware({})).toBe('–');
});

test('a TCP port has an address once it is published; an HTTP port has none', () => {
  const runtime = {
    ports: [
      { private: 22, type: 'tcp', ip: '10.0.0.5', public: 32_000 },
      { private: 80, type: 'http', ip: null, public: null },
    ],
  } as unknown as Pod['runtime'];
  const ports = ['22/tcp', '2222/tcp', '80/http'];
  expect(portRows({ ports, runtime })).toEqual([
    { name: '22/tcp', port: '22', isHttp: false, address: '10.0.0.5:32000' },
    { name: '2222/tcp', port: '2222', isHttp: false, address: null },
    { name: '80/http', port: '80', isHttp: true, address: null },
  ]);
  expect(portRows({ ports, runtime: null }).map(({ address }) => address)).toEqual([null, null, null]);
});

test('the address of a port with another protocol is not used', () => {
  const runtime = { ports: [{ private: 22, type: 'http', ip: '10.0.0.5', public: 1 }] } as unknown as Pod['runtime'];
  expect(portRows({ ports: ['22/tcp'], runtime })[0]!.address).toBeNull();
});

test('mounts show their size or volume, and their path', () => {
  const mounts: Pod['mounts'] = {
    persistent: { size: 20, path: '/workspace' },
    network: [
      { volumeId: 'v1', path: '/a' },
      { volumeId: 'v2', path: '/b' },
    ],
  };
  expect(describeMounts({ mounts })).toEqual({ persistent: '20 GB at /workspace', network: 'v1 at /a, v2 at /b' });
  expect(describeMounts({ mounts: {} })).toEqual({ persistent: '–', network: '–' });
});

test('a pod offers the actions of its status; a locked pod can only be started', () => {
  const actions: Pod['actions'] = ['stop', 'start', 'terminate'];
  expect(podActions({ actions, locked: false })).toEqual([
    { action: 'start', isDisabled: false },
    { action: 'stop', isDisabled: false },
  ]);
  expect(podActions({ actions, locked: true })).toEqual([
    { action: 'start', isDisabled: false },
    { action: 'stop', isDisabled: true },
  ]);
});

test("a port has its own name under the host, without the console's path", () => {
  expect(portUrl('https://cloud.example.com/podyard', 'p1', '8888')).toBe('https://p1-8888.cloud.example.com/');
});

test('a loopback address becomes a name below localhost', () => {
  expect(portUrl('http://127.0.0.1:8080', 'p1', '80')).toBe('http://p1-80.localhost:8080/');
  expect(portUrl('http://[::1]:8080', 'p1', '80')).toBe('http://p1-80.localhost:8080/');
});

test('a time is shown in the zone of the browser, to the minute, and read back', () => {
  const time = new Date(2030, 0, 31, 13, 5).toISOString();
  expect(toFieldValue(time)).toBe('2030-01-31T13:05');
  expect(fromFieldValue(toFieldValue(time))).toBe(time);
});

test('no time is an empty field', () => {
  expect(toFieldValue(null)).toBe('');
  expect(fromFieldValue('')).toBeNull();
});

test('a pod that nothing ends says so, and of one that ends, when and how', () => {
  expect(lifetimeText({ stopAfter: null, terminateAfter: null })).toBe('Never by itself');
  const text = lifetimeText({ stopAfter: '2030-01-31T12:00:00Z', terminateAfter: '2030-02-28T12:00:00Z' });
  expect(text).toMatch(/^Stopped at Jan 31, 2030.*, terminated at Feb 28, 2030/);
});

test('the summary of a lifetime has what changes, and warns of a stop that never comes', () => {
  const before = { stopAfter: '', terminateAfter: '' };
  const values = { stopAfter: '2030-02-01T08:00', terminateAfter: '2030-01-31T08:00' };
  expect(lifetimeSummary(values, before)).toMatchObject({
    warning: 'It is terminated before it would be stopped.',
    changes: [
      { label: 'Stop after', before: 'none', after: '2030-02-01 08:00' },
      { label: 'Terminate after', before: 'none', after: '2030-01-31 08:00' },
    ],
  });
  expect(lifetimeSummary({ ...values, terminateAfter: '' }, before).warning).toBeNull();
});
