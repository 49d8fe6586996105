import { ActionIcon, Anchor, Button, FileButton, Group, Progress, Stack, Table, Text } from '@mantine/core';
import { IconDownload, IconFolder, IconUpload } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Fragment, useState } from 'react';
import { Link, useParams, useSearchParams } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { DeleteButton } from '../../ui/confirm-delete.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { ErrorAlert } from '../../ui/error-alert.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { EmptyState, Loaded, LoadedPage, Page } from '../../ui/page.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { SmallTable } from '../../ui/tables/small-table.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { formatBytes } from '../endpoints/jobs/payload-text.ts';
import { FilePreview } from './file-preview.tsx';
import { deleteFile, type FoundFile, listFiles, readFile, uploadFile } from './file-requests.ts';

const PARENT = { to: '/volumes', label: 'Volumes' };
/** The most bytes that a page can hold in memory. */
const MAX_DOWNLOAD_BYTES = 2 ** 30;

/** The files of a network volume. The directory is in the address, so that it can be shared and the browser goes back. */
export function VolumeFilesPage() {
  const { id = '' } = useParams();
  const volume = useQuery({
    queryKey: ['volumes', id],
    queryFn: () => unwrap(api.GET('/v2/network-volumes/{id}', { params: { path: { id } } })),
  });
  return (
    <LoadedPage query={volume} what="Network volume" parent={PARENT}>
      {({ name }) => (
        <Page title={name} parents={[PARENT]} description={<CopyableId id={id} />}>
          <Files volume={id} name={name} />
        </Page>
      )}
    </LoadedPage>
  );
}

function Files({ volume, name }: { volume: string; name: string }) {
  const [search] = useSearchParams();
  const path = search.get('path') ?? '';
  return (
    <Stack>
      <Group justify="space-between">
        <Path volume={volume} name={name} path={path} />
        <Upload volume={volume} path={path} />
      </Group>
      <Directory key={path} volume={volume} path={path} />
    </Stack>
  );
}

function Directory({ volume, path }: { volume: string; path: string }) {
  const [shown, setShown] = useState<FoundFile | null>(null);
  const query = useInfiniteQuery({
    queryKey: ['files', volume, path],
    queryFn: ({ pageParam }) => listFiles(volume, path, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  const files = query.data?.pages.flatMap((page) => page.files);
  return (
    <>
      <Loaded query={{ ...query, data: files }}>
        {(found) =>
          found.length === 0 ? (
            <EmptyState icon={IconFolder} title="No files here">
              Upload files, or write some from a pod or worker that mounts the volume. S3 clients and “podyard volumes
              cp” copy whole folders.
            </EmptyState>
          ) : (
            <SmallTable label="Files" titles={['Name', 'Size', 'Changed', 'Actions']} minWidth={560}>
              {found.map((file) => (
                <Row key={file.key} volume={volume} file={file} onShow={() => setShown(file)} />
              ))}
            </SmallTable>
          )
        }
      </Loaded>
      {query.hasNextPage && (
        <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Show more
        </Button>
      )}
      <FilePreview volume={volume} file={shown} onClose={() => setShown(null)} />
    </>
  );
}

const placeOf = (volume: string, path: string) =>
  `/volumes/${volume}/files${path === '' ? '' : `?path=${encodeURIComponent(path)}`}`;

function Path({ volume, name, path }: { volume: string; name: string; path: string }) {
  const parts = path.split('/').slice(0, -1);
  const places = parts.map((part, i) => ({ part, to: placeOf(volume, `${parts.slice(0, i + 1).join('/')}/`) }));
  return (
    <Text component="nav" aria-label="Directory" size="sm" className="anywhere">
      <Anchor component={Link} to={placeOf(volume, '')}>
        <Name>{name}</Name>
      </Anchor>
      {places.map(({ part, to }) => (
        <Fragment key={to}>
          {' / '}
          <Anchor component={Link} to={to}>
            <Name>{part}</Name>
          </Anchor>
        </Fragment>
      ))}
    </Text>
  );
}

function Row({ volume, file, onShow }: { volume: string; file: FoundFile; onShow: () => void }) {
  const { key, name, isDirectory, size, modified } = file;
  return (
    <Table.Tr>
      <Table.Td>
        {isDirectory ? (
          <Anchor component={Link} to={placeOf(volume, key)}>
            <Name>{`${name}/`}</Name>
          </Anchor>
        ) : (
          <Anchor component="button" onClick={onShow} ta="left">
            <Name>{name}</Name>
          </Anchor>
        )}
      </Table.Td>
      <Table.Td>{!isDirectory && <span className="nowrap">{formatBytes(size)}</span>}</Table.Td>
      <Table.Td>{modified && <RelativeTime at={modified} />}</Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          {!isDirectory && <Download volume={volume} file={file} />}
          <DeleteButton
            what={isDirectory ? 'directory' : 'file'}
            name={name}
            queryKey="files"
            consequence={isDirectory ? 'Deletes everything in the directory, for good.' : 'Deletes the file for good.'}
            onConfirm={() => deleteFile(volume, file)}
          />
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function Download({ volume, file: { key, name, size } }: { volume: string; file: FoundFile }) {
  const [isRunning, setIsRunning] = useState(false);
  const isTooLarge = size > MAX_DOWNLOAD_BYTES;
  const label = isTooLarge ? 'Too large for a browser: use “podyard volumes cp” or an S3 client' : `Download ${name}`;
  async function download() {
    setIsRunning(true);
    try {
      saveFile(name, await readFile(volume, key, Math.max(size, 1)));
    } finally {
      setIsRunning(false);
    }
  }
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={visibleText(label)}
      title={visibleText(label)}
      disabled={isTooLarge}
      loading={isRunning}
      onClick={() => void download()}
    >
      <IconDownload size={16} />
    </ActionIcon>
  );
}

interface Sending {
  name: string;
  sent: number;
  size: number;
}

function Upload({ volume, path }: { volume: string; path: string }) {
  const queries = useQueryClient();
  const [sending, setSending] = useState<Sending | null>(null);
  const [error, setError] = useState<unknown>(null);
  async function upload(files: File[]) {
    setError(null);
    try {
      for (const file of files) {
        const { name, size } = file;
        setSending({ name, size, sent: 0 });
        await uploadFile(volume, path + name, file, (sent) => setSending({ name, size, sent }));
      }
      notifySuccess(files.length === 1 ? `Uploaded ${files[0]!.name}.` : `Uploaded ${files.length} files.`);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setSending(null);
      void queries.invalidateQueries({ queryKey: ['files', volume] });
    }
  }
  return (
    <Stack gap="xs" align="flex-end">
      <FileButton multiple onChange={(files) => void upload(files)}>
        {(props) => (
          <Button leftSection={<IconUpload size={16} />} loading={sending !== null} {...props}>
            Upload files
          </Button>
        )}
      </FileButton>
      {sending && (
        <Stack gap={4} w={280} role="status">
          <Text size="sm">
            <Name>{sending.name}</Name>: {formatBytes(sending.sent)} of {formatBytes(sending.size)}
          </Text>
          <Progress value={(100 * sending.sent) / Math.max(sending.size, 1)} aria-label="Upload" />
        </Stack>
      )}
      {error !== null && <ErrorAlert error={error} />}
    </Stack>
  );
}
