import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, fresh, seenAt, signal, until, withBench, type Bench } from './bench.ts';
import { accountFor, MOMENTS, play, reach, SETTINGS, type Moment } from './moments.ts';
import { pisOf, processesWith, variable } from './processes.ts';
import type { Row, Tally, Tools } from './tally.ts';

const TOLD_MS = 1_000;
const USABLE_MS = 3_000;
const KILLED = /Pi was ended by SIGKILL/;

export const piDies: Row[] = [
	...MOMENTS.map((moment): Row => ({
		name: `kill -9 of Pi: ${moment}`,
		must: 'told within 1 s, usable within 3 s, nothing lost without a word, nothing left over',
		run: (tally, tools) => killPi(tally, tools, moment),
	})),
	{
		name: 'kill -9 of Pi: three times in a minute',
		must: 'it is not started a third time, the page says so, "Start Pi again" does it',
		run: killThrice,
	},
];

async function killPi(tally: Tally, { browser, random, times }: Tools, moment: Moment) {
	await withBench(browser, play, { settings: SETTINGS }, async (bench) => {
		const known = new Set<number>();
		for (let run = 0; run < times(1, 5); run++) {
			if (run > 0) await fresh(bench);
			const pi = newPi(bench, known);
			const reached = await reach(moment, bench, random);
			await killAndMeasure(tally, bench, pi.pid);

			const engine = variable(pi, 'HOLDFAST_ENGINE')!;
			const alive = pisOf(bench.holdfast.proxy.pid!, bench.mark);
			tally.leftOver(
				processesWith(engine).filter(({ pid }) => !alive.some((one) => one.pid === pid)),
			);
			if (moment === 'command') {
				const log = await bench.ui.log.textContent();
				tally.expect(
					/Ended what Pi had left running: .*sleep 999\.5/.test(log!),
					'the page does not say which processes were ended',
				);
			}
			for (const { pid } of alive) known.add(pid);
			await accountFor(tally, bench, moment, reached, random);
			if (reached.command !== undefined) countRuns(tally, bench, reached.command);
			tally.runs++;
		}
	});
}

async function killAndMeasure(tally: Tally, { page }: Bench, pi: number) {
	const told = seenAt(page, '[role=alert]', KILLED);
	const began = Date.now();
	signal(pi, 'SIGKILL');
	tally.time('told', (await told) - began, TOLD_MS);
	const usable = await seenAt(page, '[role=status]', /^Pi has ended/, false);
	tally.time('usable again', usable - began, USABLE_MS);
}

/** The Pi of the conversation that was opened last. */
function newPi({ holdfast, mark }: Bench, known: Set<number>) {
	const found = pisOf(holdfast.proxy.pid!, mark).filter(({ pid }) => !known.has(pid));
	if (found.length !== 1) throw new Error(`${found.length} new Pis instead of one`);
	known.add(found[0]!.pid);
	return found[0]!;
}

/** A command that had run may not run again by itself. */
export function countRuns(tally: Tally, { folder }: Bench, word: string) {
	const lines = readFileSync(join(folder.cwd, 'ran.txt'), 'utf8').split('\n');
	const count = lines.filter((line) => line === word).length;
	if (count !== 1) tally.doubled(`command ${word} ran ${count} times`);
}

async function killThrice(tally: Tally, { browser }: Tools) {
	await withBench(browser, play, {}, async (bench) => {
		const { page, ui, holdfast, mark } = bench;
		await ui.send('say first');
		await expect(ui.answers).toContainText('Heard first.');
		for (let death = 1; death <= 3; death++) {
			const [pi] = pisOf(holdfast.proxy.pid!, mark);
			if (death < 3) await killAndMeasure(tally, bench, pi!.pid);
			else signal(pi!.pid, 'SIGKILL');
		}
		const again = ui.button('Start Pi again');
		await expect(again).toBeEnabled();
		// Longer than a start takes: it stays away.
		await page.waitForTimeout(1_500);
		tally.expect(pisOf(holdfast.proxy.pid!, mark).length === 0, 'it was started a third time');
		await expect(page.getByRole('alert')).toContainText('Pi has ended');
		await expect(page.getByRole('alert')).toContainText(/minute|3 times|three times|keeps/i);

		const began = Date.now();
		await again.click();
		const usable = await seenAt(page, '[role=status]', /^Pi has ended/, false);
		tally.time('usable after "Start Pi again"', usable - began, USABLE_MS);
		await ui.send('say second');
		await expect(ui.answers.last()).toContainText('Heard second.');
		await until('one Pi', () => pisOf(holdfast.proxy.pid!, mark).length === 1);
		tally.runs++;
	});
}
