import { Code, Image, Modal, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Loaded } from '../../ui/page.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { formatBytes } from '../endpoints/jobs/payload-text.ts';
import { type FoundFile, readFile } from './file-requests.ts';

const TEXT_BYTES = 64 * 1024;
const PICTURE_BYTES = 5 * 2 ** 20;
const PICTURES: Readonly<Record<string, string>> = {
  gif: 'image/gif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
};

/** Shows the beginning of a text, or a picture. Other bytes are only named. */
export function FilePreview({
  volume,
  file,
  onClose,
}: {
  volume: string;
  file: FoundFile | null;
  onClose: () => void;
}) {
  return (
    <Modal opened={file !== null} onClose={onClose} title={visibleText(file?.name ?? '')} size="xl">
      {file && <Content volume={volume} file={file} />}
    </Modal>
  );
}

type Shown = { picture: string } | { text: string } | { note: string };

function Content({ volume, file }: { volume: string; file: FoundFile }) {
  const query = useQuery({
    queryKey: ['files', volume, 'preview', file.key, file.modified],
    queryFn: () => load(volume, file),
  });
  return (
    <Loaded query={query}>
      {(shown) => (
        <Stack>
          {'picture' in shown && <Image src={shown.picture} alt={file.name} fit="contain" mah={600} />}
          {'text' in shown && (
            <Code block mah={600} tabIndex={0} style={{ overflow: 'auto' }}>
              {shown.text}
            </Code>
          )}
          {'note' in shown && <Text size="sm">{shown.note}</Text>}
          {'text' in shown && file.size > TEXT_BYTES && (
            <Text size="sm" c="dimmed">
              The first {formatBytes(TEXT_BYTES)} of {formatBytes(file.size)}.
            </Text>
          )}
        </Stack>
      )}
    </Loaded>
  );
}

async function load(volume: string, { key, name, size }: FoundFile): Promise<Shown> {
  const type = PICTURES[name.split('.').at(-1)?.toLowerCase() ?? ''];
  if (type !== undefined && size <= PICTURE_BYTES) {
    const bytes = await readFile(volume, key, PICTURE_BYTES);
    return { picture: await dataUrl(new Blob([bytes], { type })) };
  }
  const bytes = new Uint8Array(await (await readFile(volume, key, TEXT_BYTES)).arrayBuffer());
  if (bytes.includes(0)) return { note: `This is not text. It has ${formatBytes(size)}.` };
  return { text: size === 0 ? 'The file is empty.' : new TextDecoder().decode(bytes) };
}

/** The console's policy allows pictures in the page itself, and none from elsewhere. */
function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
