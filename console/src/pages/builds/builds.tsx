import { Stack } from '@mantine/core';
import { IconHammer } from '@tabler/icons-react';
import { CopyableText } from '../../ui/copyable.tsx';
import { EmptyState, Page } from '../../ui/page.tsx';
import { NewLink } from '../../ui/tables/record-page.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { BuildsGuide, HindranceAlert, useBuildHindrance } from './build-notes.tsx';
import { BuildTable } from './build-table.tsx';

/** All builds of the account; before the first one, how to make it. */
export function BuildsPage() {
  const hindrance = useBuildHindrance();
  return (
    <Page title="Builds">
      <BuildTable
        empty={hindrance === null ? <NoBuilds /> : <NothingBuilt hindrance={hindrance} />}
        {...(hindrance === null ? {} : { above: <HindranceAlert hindrance={hindrance} /> })}
      />
    </Page>
  );
}

function NoBuilds() {
  return (
    <EmptyState
      icon={IconHammer}
      title="No builds yet"
      action={<CopyableText label="In the folder with your code:" text="podyard deploy" />}
    >
      A build makes an image out of a folder. One command sends the folder, builds it, and has an endpoint run the
      image. You need neither a Dockerfile nor a registry.
    </EmptyState>
  );
}

function NothingBuilt({ hindrance }: { hindrance: string }) {
  return (
    <EmptyState
      icon={IconHammer}
      title="No images are built here"
      action={
        <Stack align="center" gap="xs">
          <NewLink to="/endpoints/new">New endpoint</NewLink>
          <BuildsGuide />
        </Stack>
      }
    >
      {visibleText(hindrance)}
    </EmptyState>
  );
}
