import type { AnswerHead, BodyLength, RawHeaders } from './client-exchange.ts';
import { HeaderList } from './header-list.ts';

/**
 * A strict parser of HTTP/1.1 message heads (RFC 9112). Whatever two parsers could read differently is rejected, not
 * repaired, to prevent request smuggling. Text is latin1, one character per byte, and ends with the empty line.
 */

export interface RequestHead {
  method: string;
  /** Origin form, or `*`. An absolute form is reduced to it: its authority equals Host. */
  target: string;
  minorVersion: 0 | 1;
  headers: HeaderList;
  block: FieldBlock;
  /** The value of Host; empty for HTTP/1.0 without one. */
  host: string;
  bodyLength: number | 'chunked';
  isPersistent: boolean;
  upgrade: string | null;
}

export interface ResponseHead {
  status: number;
  reason: string;
  headers: HeaderList;
  bodyLength: BodyLength;
  /** The value of Content-Length, also where no body follows. */
  announcedLength: number | null;
  isPersistent: boolean;
  /** The latest result of `clientHead`: a head often serves many responses. */
  made: { replaced: RawHeaders; head: AnswerHead } | null;
}

/** The head is invalid; the message says why. */
export class BadHead extends Error {}

const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) ([\x21\x22\x24-\x7e\x80-\xff]+) HTTP\/1\.([01])\r\n/;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?\r\n/;
/** No space before the colon, no line folding, no control characters, no bare CR or LF. */
const FIELD = /([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)\r\n/y;
const LENGTH = /^\d{1,15}$/;
const ABSOLUTE = /^https?:\/\/([^/?@]+)((?:[/?@].*)?)$/i;
const MAX_FIELDS = 200;
const SPACE = 0x20;
const TAB = 0x09;

/** The fields of a connection's latest head. Clients mostly repeat them: then they need no parsing, and results are reused. */
interface FieldBlock {
  text: string;
  headers: HeaderList;
  framing: FramingFields;
}

/** Parses the fields after the first line; returns `known` if they are the same. Throws `BadHead`. */
function readBlock(text: string, at: number, known: FieldBlock | null): FieldBlock {
  const length = text.length - at;
  if (known !== null && known.text.length === length && text.endsWith(known.text)) return known;
  const headers = parseFields(text, at);
  return { text: text.slice(at), headers, framing: readFramingFields(headers) };
}

/** Parses a request's head. `known`: the fields of an earlier head of the same connection. Throws `BadHead`. */
export function parseRequestHead(text: string, known: FieldBlock | null = null): RequestHead {
  const line = REQUEST_LINE.exec(text);
  if (!line) throw new BadHead('the request line is not valid');
  const block = readBlock(text, line[0].length, known);
  const { headers, framing: fields } = block;
  const minorVersion = line[3] === '1' ? 1 : 0;
  const method = line[1]!;
  // A successful response to CONNECT would turn the connection into a tunnel, which is not how it would be read here.
  if (method === 'CONNECT') throw new BadHead('CONNECT is for proxies that clients choose');
  if (fields.hostCount > 1 || (minorVersion === 1 && fields.hostCount === 0)) {
    throw new BadHead('there must be one Host header');
  }
  const host = fields.host ?? '';
  const bodyLength = requestBodyLength(fields, minorVersion);
  return {
    method,
    target: originForm(method, line[2]!, host),
    minorVersion,
    headers,
    block,
    host,
    bodyLength,
    isPersistent: isPersistent(minorVersion, fields),
    upgrade: readUpgrade(fields, minorVersion, bodyLength),
  };
}

/** Parses a response's head. `isHead`: the request's method was HEAD, so no body follows. Throws `BadHead`. */
export function parseResponseHead(text: string, isHead: boolean): ResponseHead {
  const line = STATUS_LINE.exec(text);
  if (!line) throw new BadHead('the status line is not valid');
  const headers = parseFields(text, line[0].length);
  const fields = readFramingFields(headers);
  const minorVersion = line[1] === '1' ? 1 : 0;
  const status = Number(line[2]);
  const announcedLength = fields.contentLength === null ? null : Number(fields.contentLength);
  const bodyLength = responseBodyLength(fields, minorVersion, status, isHead);
  return {
    status,
    reason: line[3] ?? '',
    headers,
    bodyLength,
    announcedLength,
    isPersistent: bodyLength !== 'untilClose' && isPersistent(minorVersion, fields),
    made: null,
  };
}

/** Parses the fields of a head or a trailer section, from `at` to the final empty line. Throws `BadHead`. */
export function parseFields(text: string, at: number): HeaderList {
  const headers = new HeaderList();
  const end = text.length - 2;
  while (at < end) {
    FIELD.lastIndex = at;
    const field = FIELD.exec(text);
    if (!field) throw new BadHead('a header is not valid');
    headers.add(field[1]!, withoutOuterSpace(field[2]!));
    at = FIELD.lastIndex;
  }
  if (at !== end || !text.endsWith('\r\n')) throw new BadHead('the headers do not end with an empty line');
  if (headers.names.length > MAX_FIELDS) throw new BadHead(`there are more than ${MAX_FIELDS} headers`);
  return headers;
}

/** The fields that decide where a message, and its connection, end. */
interface FramingFields {
  hostCount: number;
  host: string | null;
  contentLength: string | null;
  transferEncoding: string | null;
  /** The options of Connection, in lower case. */
  connection: string[] | null;
  upgrade: string | null;
}

/** Reads them in one pass. A repeated length is rejected even when both values agree. */
function readFramingFields(headers: HeaderList): FramingFields {
  const fields: FramingFields = {
    hostCount: 0,
    host: null,
    contentLength: null,
    transferEncoding: null,
    connection: null,
    upgrade: null,
  };
  const { lowerNames, values } = headers;
  for (let i = 0; i < lowerNames.length; i++) {
    const value = values[i]!;
    switch (lowerNames[i]) {
      case 'host':
        fields.hostCount += 1;
        fields.host = value;
        break;
      case 'content-length':
        if (fields.contentLength !== null) throw new BadHead('there is more than one Content-Length');
        if (!LENGTH.test(value)) throw new BadHead('Content-Length is not a number');
        fields.contentLength = value;
        break;
      case 'transfer-encoding':
        if (fields.transferEncoding !== null) throw new BadHead('there is more than one Transfer-Encoding');
        if (value.toLowerCase() !== 'chunked') throw new BadHead('Transfer-Encoding must be chunked');
        fields.transferEncoding = value;
        break;
      case 'connection':
        fields.connection = [...(fields.connection ?? []), ...listItems(value.toLowerCase())];
        break;
      case 'upgrade':
        fields.upgrade = fields.upgrade === null ? value : `${fields.upgrade}, ${value}`;
        break;
    }
  }
  if (fields.transferEncoding !== null && fields.contentLength !== null) {
    throw new BadHead('there are both Content-Length and Transfer-Encoding');
  }
  return fields;
}

function requestBodyLength(fields: FramingFields, minorVersion: 0 | 1): number | 'chunked' {
  if (fields.transferEncoding === null) return Number(fields.contentLength ?? 0);
  if (minorVersion === 0) throw new BadHead('HTTP/1.0 has no Transfer-Encoding');
  return 'chunked';
}

function responseBodyLength(fields: FramingFields, minorVersion: 0 | 1, status: number, isHead: boolean): BodyLength {
  if (minorVersion === 0 && fields.transferEncoding !== null) throw new BadHead('HTTP/1.0 has no Transfer-Encoding');
  if (isHead || status < 200 || status === 204 || status === 304) return 0;
  if (fields.transferEncoding !== null) return 'chunked';
  return fields.contentLength === null ? 'untilClose' : Number(fields.contentLength);
}

function isPersistent(minorVersion: 0 | 1, { connection }: FramingFields): boolean {
  if (connection === null) return minorVersion === 1;
  if (connection.includes('close')) return false;
  return minorVersion === 1 || connection.includes('keep-alive');
}

/**
 * Returns the protocol of an upgrade, which needs both headers. One with a body is read as a plain request, as HTTP
 * allows, and so is h2c, which would tunnel HTTP/2 requests unread.
 */
function readUpgrade(fields: FramingFields, minorVersion: 0 | 1, bodyLength: number | 'chunked'): string | null {
  if (fields.upgrade === null || minorVersion === 0 || bodyLength !== 0) return null;
  if (!fields.connection?.includes('upgrade')) return null;
  const offersHttp2 = listItems(fields.upgrade.toLowerCase()).some((protocol) => protocol.startsWith('h2'));
  return offersHttp2 ? null : fields.upgrade;
}

/** An absolute form must agree with Host, or two parsers could route the request differently. */
function originForm(method: string, target: string, host: string): string {
  if (target.charCodeAt(0) === 0x2f) return target;
  if (target === '*' && method === 'OPTIONS') return target;
  const absolute = ABSOLUTE.exec(target);
  if (!absolute || absolute[1]!.toLowerCase() !== host.toLowerCase())
    throw new BadHead('the request target is not valid');
  const rest = absolute[2]!;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

export function listItems(value: string): string[] {
  return value.split(',').map(withoutOuterSpace);
}

/**
 * Removes the space around a value: SP and HTAB only (RFC 9110 section 5.6.3). `trim` would remove byte 0xA0 as well, and frame
 * a message whose `Transfer-Encoding` others refuse.
 */
function withoutOuterSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB;
}
