import { describe, expect, it } from 'vitest';
import { type HttpResponse, ResponseReader } from './http-connection.ts';

const STREAM =
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello' +
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nDate: x\r\n\r\n' +
  'HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n3\r\na\r\n\r\nb;x=1\r\n{"a": "\r\n"}\r\n0\r\n\r\n' +
  'HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx-trailer: 1\r\n\r\n' +
  'HTTP/1.1 500 Oops\r\nx: y\r\ncontent-length:0\r\n\r\n';
const RESPONSES = [
  { status: 200, body: 'hello' },
  { status: 204, body: '' },
  { status: 201, body: 'a\r\n{"a": "\r\n"}' },
  { status: 404, body: '' },
  { status: 500, body: '' },
];

function readAll(pieces: readonly string[]): HttpResponse[] {
  const reader = new ResponseReader();
  const responses: HttpResponse[] = [];
  for (const piece of pieces) {
    for (let response = reader.read(piece); response; response = reader.read('')) responses.push(response);
  }
  expect(reader.hasMore).toBe(false);
  return responses;
}

describe('ResponseReader', () => {
  it('reads responses that arrive together', () => {
    expect(readAll([STREAM])).toEqual(RESPONSES);
  });

  it('reads the same responses however the stream is split', () => {
    for (let at = 1; at < STREAM.length; at++) {
      expect(readAll([STREAM.slice(0, at), STREAM.slice(at)])).toEqual(RESPONSES);
    }
  });

  it('reads them byte by byte', () => {
    expect(readAll([...STREAM])).toEqual(RESPONSES);
  });

  it('refuses a response without a length', () => {
    expect(() => new ResponseReader().read('HTTP/1.1 200 OK\r\n\r\nhello')).toThrow('neither');
    expect(() => new ResponseReader().read('SSH-2.0-OpenSSH\r\n\r\n')).toThrow('not an HTTP');
  });
});
