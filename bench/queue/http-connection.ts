import net from 'node:net';

export interface HttpResponse {
  status: number;
  /** Latin-1: one character per byte. */
  body: string;
}

/** The address of a server. */
export interface Address {
  host: string;
  port: number;
}

/** Sockets are read one after another, and each piece is copied before the next read: one buffer serves all. */
const READ_BUFFER = Buffer.allocUnsafe(256 * 1024);

/**
 * A keep-alive HTTP/1.1 connection with one request in flight, as cheap as Node allows: no streams, header objects or
 * promises. Connects on demand, and again after the server closed an idle connection.
 */
export class HttpConnection {
  readonly #address: Address;
  #socket: net.Socket | undefined;
  #reader = new ResponseReader();
  #onResponse: ((response: HttpResponse | null) => void) | undefined;

  constructor(address: Address) {
    this.#address = address;
  }

  get isBusy(): boolean {
    return this.#onResponse !== undefined;
  }

  /** `text` is a whole request in Latin-1. `onResponse` gets null when the connection broke before the response. */
  request(text: string, onResponse: (response: HttpResponse | null) => void): void {
    if (this.#onResponse) throw new Error('this connection already has a request in flight');
    this.#onResponse = onResponse;
    this.#socket ??= this.#connect();
    this.#socket.write(text, 'latin1');
  }

  close(): void {
    this.#onResponse = undefined;
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #connect(): net.Socket {
    this.#reader = new ResponseReader();
    const socket = net.connect({
      ...this.#address,
      noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback: (length) => {
          this.#read(length, socket);
          return true;
        },
      },
    });
    socket.on('error', () => {}); // 'close' follows
    socket.on('close', () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#answer(null);
    });
    return socket;
  }

  #read(length: number, socket: net.Socket): void {
    if (this.#socket !== socket) return;
    let response: HttpResponse | null;
    try {
      response = this.#reader.read(READ_BUFFER.toString('latin1', 0, length));
      if (response && this.#reader.hasMore) throw new Error('the server sent more than the response');
    } catch (error) {
      socket.destroy(error as Error);
      return;
    }
    if (response) this.#answer(response);
  }

  #answer(response: HttpResponse | null): void {
    const onResponse = this.#onResponse;
    this.#onResponse = undefined;
    onResponse?.(response);
  }
}

/** Splits a byte stream into responses, however the network fragments it. Bodies are sized, chunked or absent. */
export class ResponseReader {
  #text = '';
  /** Where the body of the current response starts; -1 until the head is complete. */
  #bodyAt = -1;
  #status = 0;
  /** -1: chunked. */
  #length = 0;

  /** True when bytes of another response have arrived. */
  get hasMore(): boolean {
    return this.#text !== '';
  }

  /** Adds a piece (Latin-1; may be empty). Returns the next response once it is complete. */
  read(piece: string): HttpResponse | null {
    this.#text = this.#text === '' ? piece : this.#text + piece;
    while (this.#bodyAt === -1) {
      if (!this.#readHead()) return null;
      if (this.#status < 200) this.#drop(this.#bodyAt); // 100 Continue and the like: the real response follows
    }
    return this.#length === -1 ? this.#readChunked() : this.#readSized();
  }

  #readHead(): boolean {
    const end = this.#text.indexOf('\r\n\r\n');
    if (end === -1) return false;
    const head = this.#text.slice(0, end + 2).toLowerCase();
    if (!head.startsWith('http/1.1 ')) throw new Error(`not an HTTP/1.1 response: ${head.slice(0, 40)}`);
    this.#status = Number(head.slice(9, 12));
    this.#bodyAt = end + 4;
    const length = head.indexOf('\r\ncontent-length:');
    if (this.#status < 200 || this.#status === 204 || this.#status === 304) this.#length = 0;
    else if (length !== -1) this.#length = Number(head.slice(length + 17, head.indexOf('\r\n', length + 17)));
    else if (/\r\ntransfer-encoding: *chunked\r\n/.test(head)) this.#length = -1;
    else throw new Error('a response with neither content-length nor chunks');
    return true;
  }

  #readSized(): HttpResponse | null {
    const end = this.#bodyAt + this.#length;
    if (this.#text.length < end) return null;
    const response = { status: this.#status, body: this.#text.slice(this.#bodyAt, end) };
    this.#drop(end);
    return response;
  }

  #readChunked(): HttpResponse | null {
    let body = '';
    let at = this.#bodyAt;
    for (;;) {
      const lineEnd = this.#text.indexOf('\r\n', at);
      if (lineEnd === -1) return null;
      const size = Number.parseInt(this.#text.slice(at, lineEnd), 16);
      if (Number.isNaN(size)) throw new Error('a chunk without a size');
      if (size === 0) {
        const end = this.#endOfTrailers(lineEnd);
        if (end === -1) return null;
        this.#drop(end);
        return { status: this.#status, body };
      }
      at = lineEnd + 2 + size + 2;
      if (this.#text.length < at) return null;
      body += this.#text.slice(lineEnd + 2, at - 2);
    }
  }

  /** `lineEnd`: the end of the last chunk's size line. */
  #endOfTrailers(lineEnd: number): number {
    const end = this.#text.indexOf('\r\n\r\n', lineEnd);
    return end === -1 ? -1 : end + 4;
  }

  #drop(end: number): void {
    this.#text = this.#text.slice(end);
    this.#bodyAt = -1;
  }
}
