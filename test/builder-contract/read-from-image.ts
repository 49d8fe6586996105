import { docker } from '../engine.ts';

/** Returns the text of a file below `/app` of an image, read in a container that is never started. */
export async function readFromImage(image: string, path: string): Promise<string> {
  const container = await docker.createContainer({ Image: image });
  try {
    const archive = await container.getArchive({ path: `/app/${path}` });
    const chunks: Buffer[] = [];
    for await (const chunk of archive as AsyncIterable<Buffer>) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const size = Number.parseInt(bytes.toString('latin1', 124, 135), 8);
    return bytes.toString('utf8', 512, 512 + size);
  } finally {
    await container.remove({ v: true });
  }
}
