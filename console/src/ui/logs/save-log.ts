import { request } from '../../api/client.ts';
import { saveFile } from '../save-file.ts';

/** Of Chromium: a file that the user chose, written piece by piece. */
type SaveFilePicker = (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;

/**
 * Saves what a path answers as a file. Where the browser allows it, the answer goes to the file as it comes; elsewhere the
 * browser holds it first. Returns false if the user chose no file.
 */
export async function saveLog(path: string, fileName: string): Promise<boolean> {
  const { showSaveFilePicker } = window as { showSaveFilePicker?: SaveFilePicker };
  if (showSaveFilePicker) {
    const handle = await showSaveFilePicker({ suggestedName: fileName }).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'AbortError') return null;
      throw error;
    });
    if (!handle) return false;
    const [response, file] = await Promise.all([request(path), handle.createWritable()]);
    await response.body!.pipeTo(file);
    return true;
  }
  saveFile(fileName, await (await request(path)).blob());
  return true;
}
