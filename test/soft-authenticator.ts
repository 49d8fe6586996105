import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

const USER_PRESENT = 1;
const USER_VERIFIED = 4;
const HAS_CREDENTIAL = 64;
const base64url = (bytes: Buffer) => bytes.toString('base64url');
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** A test's deviations from an authenticator and a browser. */
export interface Odd {
  origin?: string;
  rpId?: string;
  counter?: number;
  isVerified?: boolean;
  challenge?: string;
}

/** An authenticator with one passkey, and the browser in front of it: answers as both do. */
export class SoftAuthenticator {
  readonly id = randomBytes(16);
  counter = 0;
  readonly #key: KeyObject;
  readonly #publicKey: Buffer;
  readonly #origin: string;

  /** `origin`: of the page. */
  constructor(origin: string) {
    this.#origin = origin;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    // COSE: an EC2 key for ES256 on P-256.
    const head = [Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]), Buffer.from([0x22])];
    this.#publicKey = Buffer.concat([
      head[0]!,
      cborBytes(Buffer.from(x, 'base64url')),
      head[1]!,
      cborBytes(Buffer.from(y, 'base64url')),
    ]);
  }

  /** The answer to the options of a registration. */
  create({ challenge }: { challenge: string }, odd: Odd = {}): object {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.id.length);
    const credential = Buffer.concat([Buffer.alloc(16), length, this.id, this.#publicKey]);
    const data = this.#data(odd, HAS_CREDENTIAL, credential);
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      ...[cborText('fmt'), cborText('none'), cborText('attStmt'), Buffer.from([0xa0])],
      ...[cborText('authData'), cborBytes(data)],
    ]);
    const clientDataJSON = base64url(this.#client('webauthn.create', challenge, odd));
    return this.#answer({ clientDataJSON, attestationObject: base64url(attestation), transports: ['internal'] });
  }

  /** The answer to the options of a sign-in. */
  get({ challenge }: { challenge: string }, odd: Odd = {}): object {
    this.counter += 1;
    const data = this.#data(odd, 0, Buffer.alloc(0));
    const client = this.#client('webauthn.get', challenge, odd);
    const signature = sign('sha256', Buffer.concat([data, sha256(client)]), this.#key);
    return this.#answer({
      clientDataJSON: base64url(client),
      authenticatorData: base64url(data),
      signature: base64url(signature),
    });
  }

  #answer(response: object): object {
    const id = base64url(this.id);
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
  }

  #client(type: string, challenge: string, odd: Odd): Buffer {
    const { origin = this.#origin } = odd;
    return Buffer.from(JSON.stringify({ type, challenge: odd.challenge ?? challenge, origin, crossOrigin: false }));
  }

  #data({ rpId, counter, isVerified = true }: Odd, flags: number, rest: Buffer): Buffer {
    const head = Buffer.alloc(5);
    head[0] = USER_PRESENT | (isVerified ? USER_VERIFIED : 0) | flags;
    head.writeUInt32BE(counter ?? this.counter, 1);
    return Buffer.concat([sha256(rpId ?? new URL(this.#origin).hostname), head, rest]);
  }
}

function cborText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)]);
}

function cborBytes(bytes: Buffer): Buffer {
  const head = bytes.length < 256 ? [0x58, bytes.length] : [0x59, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from(head), bytes]);
}
