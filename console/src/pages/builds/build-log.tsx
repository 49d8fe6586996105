import { Button, Group, Stack, Title } from '@mantine/core';
import { IconDownload, IconTextWrap } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { LiveBadge } from '../../ui/live-badge.tsx';
import { LogBox } from '../../ui/logs/log-box.tsx';
import { useLineWrap } from '../../ui/logs/use-line-wrap.ts';
import type { LogConnection } from '../../ui/logs/use-log.ts';
import { saveFile } from '../../ui/save-file.ts';
import { type Build, failureOf } from './build-values.ts';
import { logText, useBuildLog } from './use-build-log.ts';

/** The log of a build, live until it has ended. The line that says why it failed is marked. Remount it for another build. */
export function BuildLog({ build }: { build: Build }) {
  const queries = useQueryClient();
  const log = useBuildLog(build.id, () => void queries.invalidateQueries({ queryKey: ['build', build.id] }));
  const [isFollowing, setFollowing] = useState(true);
  const [isWrapped, setWrapped] = useLineWrap();
  const failure = build.status === 'FAILED' && build.reason !== null ? failureOf(build.reason) : null;
  return (
    <Stack gap="xs" component="section" aria-label="Output">
      <Group justify="space-between" gap="xs">
        <Title order={2} size="h5">
          Output
        </Title>
        <Group gap="xs">
          <Button
            size="compact-sm"
            variant={isWrapped ? 'light' : 'default'}
            aria-pressed={isWrapped}
            leftSection={<IconTextWrap size={14} aria-hidden />}
            onClick={() => setWrapped(!isWrapped)}
          >
            Wrap
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            disabled={log.lines.length === 0}
            leftSection={<IconDownload size={14} aria-hidden />}
            onClick={() => saveFile(`${build.id}.log`, new Blob([logText(log.lines)], { type: 'text/plain' }))}
          >
            Download
          </Button>
          {log.connection !== 'closed' && <LiveBadge isOpen={log.connection === 'open'} />}
        </Group>
      </Group>
      <div className="log-frame">
        <LogBox
          log={log}
          marked={failure === null || failure.output === '' ? '' : failure.line}
          isWrapped={isWrapped}
          hasWorkers={false}
          jobsPath={null}
          isFollowing={isFollowing}
          onFollow={setFollowing}
          empty={emptyText(build, log.connection)}
        />
        {!isFollowing && (
          <Button className="log-latest" size="compact-xs" onClick={() => setFollowing(true)}>
            Jump to latest
          </Button>
        )}
      </div>
    </Stack>
  );
}

function emptyText({ status }: Build, connection: LogConnection): string {
  if (connection === 'closed') return 'It printed nothing.';
  if (status === 'QUEUED') return 'It has not begun.';
  return connection === 'open' ? 'Nothing was logged yet.' : 'Connecting…';
}
