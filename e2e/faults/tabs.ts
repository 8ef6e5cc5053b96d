import { isDeepStrictEqual } from 'node:util';
import type { Reply } from '../../server/demo/provider.ts';
import { login } from '../login.ts';
import { expect, sleep, until, withBench } from './bench.ts';
import { peakMemory } from './processes.ts';
import { Tab } from './tab.ts';
import type { Row, Tally, Tools } from './tally.ts';

const TABS = 100;
const DELAY_MS = 250;
const MEMORY_MB = 300;
/** Snapshots asked for by the tab that does not read: the shorter stream would fit its buffers. */
const GREETINGS = 40;

export const tabs: Row[] = [
	{
		name: '100 tabs on one stream, one not reading',
		must: "the others' p95 delay under 250 ms, the proxy under 300 MB; it resumes to equality",
		alone: true,
		run,
	},
];

async function run(tally: Tally, { browser, times, random }: Tools) {
	const long = times(0, 1) === 1;
	const words = Array.from({ length: long ? 3_000 : 500 }, () =>
		random.word().repeat(long ? 400 : 40),
	);
	const text = words.join(' ');
	const opening = 'x'.repeat(300_000);
	const play = ({ messages }: { messages: unknown[] }): Reply =>
		messages.length === 1 ? [{ text: opening, pace: 0 }] : [{ text, pace: long ? 10 : 5 }];

	await withBench(browser, play, {}, async ({ page, ui, holdfast }) => {
		await ui.send('First.');
		await ui.rested();
		await expect(page).toHaveURL(/session=/);
		const session = new URL(page.url()).searchParams.get('session')!;
		// The page would need the processor that the tabs are measured on.
		await page.goto('about:blank');

		const credentials = await login(holdfast.address());
		const all = Array.from(
			{ length: TABS },
			(_, index) => new Tab(credentials, session, index < 3 || index === TABS - 1),
		);
		for (const tab of all) await tab.open();
		await until('all snapshots', () => all.every(({ greeted }) => greeted));
		// Pi's last word on the first prompt may come late.
		await sleep(500);
		for (const tab of all) tab.frames = [];
		const [watcher] = all;
		const deaf = all.at(-1)!;
		deaf.pause();
		if (!long) for (let count = 0; count < GREETINGS; count++) deaf.greetAnew();

		watcher!.prompt('Second.');
		const settled = (tab: Tab) =>
			tab.conversation!.activity.kind === 'idle' &&
			tab.conversation!.messages.filter(({ kind }) => kind === 'assistant').length === 2;
		await until('the end of the stream', () => settled(watcher!), 120_000);
		await sleep(300);

		deaf.resume();
		await until('its being cut off', () => deaf.closed, 5_000).catch(() =>
			tally.problem('the tab that did not read was never cut off'),
		);
		await deaf.open();
		await until('its coming back', () => settled(deaf), 10_000);
		const fresh = new Tab(credentials, session, true);
		await fresh.open();
		await until('a snapshot', () => fresh.conversation !== undefined);
		for (const tab of [...all.slice(0, 3), deaf]) {
			tally.expect(tab.gaps === 0, `${tab.gaps} gaps between the events of a tab`);
			if (!isDeepStrictEqual(plain(tab), plain(fresh))) tally.lost('a tab ended with another text');
		}
		judge(tally, all.slice(0, -1));
		const peak = peakMemory(holdfast.proxy.pid!);
		tally.time('memory of the proxy at its peak', peak, MEMORY_MB, 'each', 'MB');
		tally.note(
			`${all.length - 1} tabs read ${(text.length / 1e6).toFixed(1)} MB each; the other came back by "${deaf.greetings.at(-1)}"`,
		);
		tally.runs++;
		for (const tab of [...all, fresh]) tab.close();
	});
}

const plain = ({ conversation }: Tab): unknown => JSON.parse(JSON.stringify(conversation));

/** Delays against the proxy's clock, which is set by the frame that was fastest of all. */
function judge(tally: Tally, readers: Tab[]) {
	const frames = readers.flatMap(({ frames }) => frames);
	const offset = frames.reduce((least, { at, arrived }) => Math.min(least, arrived - at), Infinity);
	const delays = frames.map(({ at, arrived }) => arrived - at - offset).sort((a, b) => a - b);
	const percentile = (share: number) => delays[Math.floor((delays.length - 1) * share)]!;
	tally.time('p95 delay', percentile(0.95), DELAY_MS, 'each');
	tally.note(
		`delay of ${delays.length} frames: ${percentile(0.5).toFixed(0)} ms median, ${percentile(0.99).toFixed(0)} ms p99, ${delays.at(-1)!.toFixed(0)} ms worst`,
	);
	const bytes = new Set(
		readers.map(({ frames }) => frames.reduce((sum, frame) => sum + frame.bytes, 0)),
	);
	if (bytes.size > 1) tally.lost(`${bytes.size} different sums of bytes in ${readers.length} tabs`);
}
