import { expect, test } from 'vitest';
import { endText, type Socket, TerminalConnection, type TerminalEnd } from './terminal-connection.ts';

/** Imitates a WebSocket: keeps what is sent. */
function connect() {
  const sent: (string | Uint8Array)[] = [];
  const socket = {
    readyState: 0,
    send: (data: string | Uint8Array) => sent.push(data),
    close: () => {},
  } as unknown as Socket & { readyState: number };
  const shown: { text: string; done: () => void }[] = [];
  const ends: TerminalEnd[] = [];
  const notices: string[] = [];
  const connection = new TerminalConnection(socket, {
    onOutput: (bytes, done) => shown.push({ text: new TextDecoder().decode(bytes), done }),
    onNotice: (text) => notices.push(text),
    onEnd: (end) => ends.push(end),
  });
  const open = () => {
    socket.readyState = 1;
    socket.onopen!.call(socket as never, {} as Event);
  };
  const receive = (data: string | ArrayBuffer) => socket.onmessage!.call(socket as never, { data } as MessageEvent);
  const close = () => socket.onclose!.call(socket as never, {} as CloseEvent);
  const inputs = () => sent.filter((one) => typeof one !== 'string');
  return { connection, open, receive, close, sent, shown, ends, notices, inputs };
}

const output = (text: string) => Uint8Array.of(1, ...new TextEncoder().encode(text)).buffer;

test('what is typed before the connection opens is sent when it does, after the size', () => {
  const { connection, open, sent } = connect();
  connection.resize({ columns: 90, rows: 30 });
  connection.write('ž');
  expect(sent).toEqual([]);
  open();
  expect(sent).toEqual(['{"type":"resize","columns":90,"rows":30}', Uint8Array.of(0, 0xc5, 0xbe)]);
});

test('output is acknowledged only when it is shown', () => {
  const { open, receive, sent, shown } = connect();
  open();
  receive(output('hello'));
  expect(shown[0]!.text).toBe('hello');
  expect(sent).toEqual([]);
  shown[0]!.done();
  expect(sent).toEqual(['{"type":"ack","bytes":5}']);
});

test('a large paste waits for the program to read it, and arrives whole', () => {
  const { connection, open, receive, inputs } = connect();
  open();
  connection.write('x'.repeat(1_000_000));
  expect(inputs().length).toBe(8);
  for (let i = 0; i < 40; i++) receive('{"type":"ack","bytes":32768}');
  const bytes = inputs().reduce((sum, one) => sum + one.length - 1, 0);
  expect(bytes).toBe(1_000_000);
});

test('the end is reported once, with the reason; a session that the page closes reports nothing', () => {
  const first = connect();
  first.open();
  first.receive('{"type":"notice","text":"soon"}');
  first.receive('{"type":"exit","code":null,"reason":"the pod was stopped"}');
  first.close();
  first.close();
  expect(first.notices).toEqual(['soon']);
  expect(first.ends).toEqual([{ code: null, reason: 'the pod was stopped' }]);
  const second = connect();
  second.close();
  expect(second.ends.map(endText)).toEqual(['The session ended: the connection to the server was lost.']);
  const third = connect();
  third.connection.close();
  third.close();
  expect(third.ends).toEqual([]);
});

test.each([
  [{ code: 0, reason: null }, 'The program has ended.'],
  [{ code: 7, reason: null }, 'The program ended with exit code 7.'],
])('%j reads %s', (end, text) => expect(endText(end)).toBe(text));
