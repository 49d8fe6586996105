import { generateKeyPairSync, randomBytes } from 'node:crypto';

const TYPE = 'ssh-ed25519';
/** The block size that an unencrypted key is padded to. */
const BLOCK_BYTES = 8;

/**
 * Makes an Ed25519 key pair: the public half as a line of authorized_keys, the private one as a file of OpenSSH (its PROTOCOL.key),
 * without a passphrase.
 */
export function newDeployKey(comment: string): { publicKey: string; privateKey: string } {
  const { x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as { x: string; d: string };
  const [pub, seed] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')];
  const publicBlob = Buffer.concat([text(TYPE), text(pub)]);
  const check = randomBytes(4);
  const secret = [check, check, text(TYPE), text(pub), text(Buffer.concat([seed, pub])), text(comment)];
  const file = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[text('none'), text('none'), text(''), uint32(1), text(publicBlob), text(padded(Buffer.concat(secret)))],
  ]);
  const lines = file.toString('base64').match(/.{1,70}/g)!;
  return {
    publicKey: `${TYPE} ${publicBlob.toString('base64')} ${comment}`,
    privateKey: ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n'),
  };
}

function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function padded(bytes: Buffer): Buffer {
  const missing = (BLOCK_BYTES - (bytes.length % BLOCK_BYTES)) % BLOCK_BYTES;
  return Buffer.concat([bytes, Buffer.from(Array.from({ length: missing }, (_, i) => i + 1))]);
}
