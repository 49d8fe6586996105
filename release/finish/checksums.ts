import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';

/** Not of the release, or made from its checksums. */
const NOT_LISTED = ['SHA256SUMS', 'SHA256SUMS.sig', 'podyard.pub'];

/** Writes SHA256SUMS, with a line for every file in the folder, as `sha256sum --check` reads it. */
export async function writeChecksums(out: string): Promise<void> {
  const listed = await readdir(out, { withFileTypes: true });
  const names = listed.filter((item) => item.isFile() && !NOT_LISTED.includes(item.name)).map((item) => item.name);
  let lines = '';
  for (const name of names.sort()) {
    const hash = createHash('sha256').update(await readFile(`${out}/${name}`));
    lines += `${hash.digest('hex')}  ${name}\n`;
  }
  await writeFile(`${out}/SHA256SUMS`, lines);
}

/**
 * Signs SHA256SUMS with an Ed25519 key and writes the signature beside it, as `openssl pkeyutl -verify -rawin` reads it, with
 * the public key. Throws if the file has no such private key.
 */
export async function signChecksums(out: string, keyFile: string): Promise<void> {
  const key = createPrivateKey(await readFile(keyFile));
  if (key.asymmetricKeyType !== 'ed25519') {
    throw new Error(
      `PODYARD_RELEASE_KEY: ${keyFile} has a key of type ${key.asymmetricKeyType}, but Ed25519 is needed: openssl genpkey -algorithm ed25519`,
    );
  }
  await writeFile(`${out}/SHA256SUMS.sig`, sign(null, await readFile(`${out}/SHA256SUMS`), key));
  await writeFile(`${out}/podyard.pub`, createPublicKey(key).export({ type: 'spki', format: 'pem' }));
}
