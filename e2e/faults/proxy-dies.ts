import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionFiles, wholeLines } from './session-file.ts';
import { expect, fresh, seenAt, sleep, until, withBench, type Bench } from './bench.ts';
import { accountFor, MOMENTS, play, reach, SETTINGS, type Moment } from './moments.ts';
import { countRuns } from './pi-dies.ts';
import { pisOf, processesWith, variable } from './processes.ts';
import type { Row, Tally, Tools } from './tally.ts';

const CLEAN_MS = 2_000;
const STOPPED_MS = 6_000;
const RECONNECTING = 'section[aria-label=Connection]';

export const proxyDies: Row[] = [
	...MOMENTS.map((moment): Row => ({
		name: `kill -9 of the proxy: ${moment}`,
		must: 'no accepted prompt lost, nothing left over 2 s after the restart, page back by itself',
		run: (tally, tools) => killProxy(tally, tools, moment),
	})),
	{
		name: "kill -9 of the proxy: a person's command",
		must: 'it is not run again by itself',
		run: killInCommand,
	},
	{
		name: 'SIGTERM to the proxy in mid-command',
		must: '0 processes after 6 s, the session file whole',
		run: terminate,
	},
];

async function killProxy(tally: Tally, { browser, random, times }: Tools, moment: Moment) {
	await withBench(browser, play, { settings: SETTINGS }, async (bench) => {
		for (let run = 0; run < times(1, 5); run++) {
			if (run > 0) await fresh(bench);
			const reached = await reach(moment, bench, random);
			await killAndRestart(tally, bench);
			// What was seen of an answer that was under way is not on any disk.
			await accountFor(tally, bench, moment, { ...reached, seen: [] }, random);
			if (reached.command !== undefined) countRuns(tally, bench, reached.command);
			tally.runs++;
		}
	});
}

async function killAndRestart(tally: Tally, { holdfast, mark, page }: Bench) {
	const [pi] = pisOf(holdfast.proxy.pid!, mark);
	const owner = variable(pi!, 'HOLDFAST_OWNER')!;
	const lost = seenAt(page, RECONNECTING, /Reconnecting/);
	await holdfast.kill();
	await lost;

	await holdfast.again();
	const began = Date.now();
	const back = seenAt(page, RECONNECTING, /./, false);
	const clean = until('the end of all left-overs', () => processesWith(owner).length === 0)
		.then((ms) => tally.time('left-overs gone', ms, CLEAN_MS, 'each'))
		.catch(() => tally.leftOver(processesWith(owner)));
	tally.time('page back', (await back) - began, 5_000);
	await clean;
	await expect(page.locator('[role=status]')).not.toHaveText('Pi is starting.');
}

async function killInCommand(tally: Tally, { browser, random, times }: Tools) {
	await withBench(browser, play, {}, async (bench) => {
		const { ui, folder } = bench;
		for (let run = 0; run < times(1, 5); run++) {
			if (run > 0) await fresh(bench);
			const word = random.word();
			await ui.send(`say ${word}`);
			await expect(ui.answers).toContainText(`Heard ${word}.`);
			await ui.send(`!echo ${word} >> ran.txt; echo begun; sleep 99.5`);
			await expect(ui.commands.locator('pre')).toContainText('begun');
			await killAndRestart(tally, bench);
			// Time enough to run again.
			await sleep(1_000);
			countRuns(tally, bench, word);
			tally.expect(
				readFileSync(join(folder.cwd, 'ran.txt'), 'utf8').trim().split('\n').length === run + 1,
				'commands ran that nobody asked for',
			);
			tally.runs++;
		}
	});
}

async function terminate(tally: Tally, { browser, random, times }: Tools) {
	for (let run = 0; run < times(1, 5); run++) {
		await withBench(browser, play, {}, async (bench) => {
			const { prompts } = await reach('command', bench, random);
			const began = performance.now();
			bench.holdfast.proxy.kill(random.pick(['SIGTERM', 'SIGINT'] as const));
			await until('the end of all', () => processesWith(bench.mark).length === 0, 8_000).catch(() =>
				tally.leftOver(processesWith(bench.mark)),
			);
			tally.time('all ended', performance.now() - began, STOPPED_MS, 'each');

			const [file] = sessionFiles(bench.folder);
			const entries = wholeLines(tally, file!);
			const roles = entries.map(({ message }) => message?.role);
			tally.expect(
				readFileSync(file!, 'utf8').includes(prompts[0]!),
				'the prompt is not in the session file',
			);
			tally.expect(
				roles.includes('toolResult'),
				'how the command ended is not in the session file',
			);
			tally.runs++;
		});
	}
}
