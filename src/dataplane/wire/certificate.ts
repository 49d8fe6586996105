import { unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { messageOf } from '../../core/errors.ts';

const POLL_MS = 5000;

export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

/** Reads both files. Rejects when they are not a certificate and its key. */
export async function readCertificate({ certFile, keyFile }: CertificateFiles): Promise<SecureContextOptions> {
  const [cert, key] = await Promise.all([readPem(certFile, '--tls-cert'), readPem(keyFile, '--tls-key')]);
  const options: SecureContextOptions = { cert, key, minVersion: 'TLSv1.2' };
  try {
    createSecureContext(options);
  } catch (cause) {
    throw new Error(`${certFile} and ${keyFile} are not a certificate and its private key`, { cause });
  }
  return options;
}

async function readPem(file: string, setting: string): Promise<Buffer> {
  return readFile(file).catch((cause: unknown) => {
    throw new Error(`${setting}: ${file} cannot be read: ${messageOf(cause)}`, { cause });
  });
}

/**
 * Polls both files every five seconds, following links, and reports a new matching pair to `onNew`. A mismatch, as in the
 * middle of a renewal, is reported to `onProblem`. Returns the function that stops it.
 */
export function watchCertificate(
  files: CertificateFiles,
  onNew: (options: SecureContextOptions) => void,
  onProblem: (error: unknown) => void,
): () => void {
  const read = () => void readCertificate(files).then(onNew, onProblem);
  for (const file of [files.certFile, files.keyFile]) watchFile(file, { interval: POLL_MS, persistent: false }, read);
  return () => {
    for (const file of [files.certFile, files.keyFile]) unwatchFile(file, read);
  };
}
