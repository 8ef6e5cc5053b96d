/** A retry that waits and a command that runs, and nothing else. */
import type { Browser } from 'playwright';
import { expect, sleep, withBench } from '../faults/bench.ts';
import { error } from '../holdfast.ts';
import { tasksDuring } from './main-thread.ts';
import type { Report, Row } from './report.ts';
import { openPage } from './stage.ts';

const WATCHED_MS = 6_000;

export const idle: Row[] = [{ name: 'idle', run }];

async function run(report: Report, browser: Browser) {
	const settings = { retry: { baseDelayMs: 60_000 } };
	await withBench(
		browser,
		() => error(429),
		{ closed: true, settings },
		async (bench) => {
			const { ui } = await openPage(bench);
			await ui.send('Work, please.');
			await expect(ui.progress).toBeVisible();
			await ui.send('!echo begun; sleep 40');
			await expect(ui.commands).toContainText('begun');
			await sleep(1_000);
			const { busy, elapsed } = await tasksDuring(browser, () => sleep(WATCHED_MS));
			await expect(ui.progress).toBeVisible();
			await expect(ui.commands).toHaveAttribute('data-state', 'running');
			report.share(
				'main thread busy with a retry bar and a running command',
				(busy / elapsed) * 100,
				2,
			);
		},
	);
}
