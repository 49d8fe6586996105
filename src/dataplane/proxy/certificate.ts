import { unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

const LOOK_MS = 5000;

export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

/** Reads both, and sees that they fit each other: rejects with a sentence if not. */
export async function readCertificate({ certFile, keyFile }: CertificateFiles): Promise<SecureContextOptions> {
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)]);
  const options: SecureContextOptions = { cert, key, minVersion: 'TLSv1.2' };
  try {
    createSecureContext(options);
  } catch (cause) {
    throw new Error(`${certFile} and ${keyFile} are not a certificate and its key`, { cause });
  }
  return options;
}

/**
 * Looks at both files every five seconds, through links, and tells of a new pair that fits. Half of one is a moment
 * during a renewal, and told to `onProblem`. Returns the function that ends it.
 */
export function watchCertificate(
  files: CertificateFiles,
  onNew: (options: SecureContextOptions) => void,
  onProblem: (error: unknown) => void,
): () => void {
  const look = () => void readCertificate(files).then(onNew, onProblem);
  for (const file of [files.certFile, files.keyFile]) watchFile(file, { interval: LOOK_MS, persistent: false }, look);
  return () => {
    for (const file of [files.certFile, files.keyFile]) unwatchFile(file, look);
  };
}
