/** How a request is allowed to read at an origin. Nothing of it goes to another one. */
import { createHash, createHmac } from 'node:crypto';

/** Credentials for an origin, from a secret of the owner; null: none. Can be sent between threads. */
export type OriginAccess =
  | { kind: 'bearer'; token: string }
  /** Signature Version 4. Without a key requests are not signed. */
  | { kind: 's3'; region: string; accessKeyId: string; secretAccessKey: string }
  /** A registry's: it says itself whether it takes a password, or a token that another server gives for it. */
  | { kind: 'registry'; user: string; password: string }
  | null;

/** Returns the headers that allow a request. `answer`: to a registry's question. */
export async function accessHeaders(
  access: OriginAccess,
  { url, method, answer }: { url: URL; method: string; answer: string | null },
): Promise<Record<string, string>> {
  if (answer !== null) return { authorization: answer };
  if (access?.kind === 'bearer') return { authorization: `Bearer ${access.token}` };
  if (access?.kind === 's3') return signedHeaders(access, url, method);
  return {};
}

/** Loaded when it is needed: most installations have no model in S3. */
async function signedHeaders(
  { region, accessKeyId, secretAccessKey }: Extract<OriginAccess, { kind: 's3' }>,
  url: URL,
  method: string,
): Promise<Record<string, string>> {
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials: { accessKeyId, secretAccessKey },
    sha256: Sha256,
    uriEscapePath: false, // S3 signs the path as it is sent
  });
  const { hostname, protocol, pathname, host } = url;
  const request = { method, protocol, hostname, path: pathname, query: {}, headers: { host } };
  return (await signer.sign(request)).headers;
}

/** SHA-256 as the signer wants it. */
class Sha256 {
  readonly #hash;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    throw new Error('a hash is used once');
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
}
