/** What the proxy costs: a session, a watcher, a megabyte of Pi's, a start. */
import { spawn } from 'node:child_process';
import type { Browser } from 'playwright';
import { scripted } from '../../server/bridge/real-pi.ts';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { sleep, until, withBench, type Bench } from '../faults/bench.ts';
import type { Tab } from '../faults/tab.ts';
import { bash, firstTurn } from '../holdfast.ts';
import { asAsked } from './answer.ts';
import { answered, teachPainted } from './painted.ts';
import { memory, processorTime } from './processor.ts';
import { withRecording } from './recording.ts';
import type { Report, Row } from './report.ts';
import { openPage, openTab, sessionOf } from './stage.ts';

const SESSIONS = 50;
const SESSION_MB = 2;
const TABS = 100;
/** The same is played until it is so much: the processor's clock is coarse. */
const PLAYED_MB = 40;
const START_MS = 2_000;

export const proxy: Row[] = [
	{ name: 'live-sessions', once: true, run: liveSessions },
	{ name: 'tabs', run: tabs },
	{ name: 'megabyte', run: megabytes },
	{ name: 'start', run: start },
];

async function liveSessions(report: Report, browser: Browser) {
	await withRecording(browser, asAsked, 'Hello.', async (flags) => {
		await withBench(browser, asAsked, { closed: true, flags }, async (bench) => {
			const pid = bench.holdfast.proxy.pid!;
			const open: Tab[] = [await openTab(bench, 'new')];
			await sleep(2_000);
			const one = memory(pid);
			while (open.length < SESSIONS) open.push(await openTab(bench, 'new', true));
			await sleep(2_000);
			const live = new Set(open.slice(1).map(({ conversation }) => conversation?.session?.id));
			report.reached('live sessions open at once', live.size + 1, '', SESSIONS);
			const each = (memory(pid) - one) / (SESSIONS - 1);
			report.bytes('memory of the proxy for an idle session, without Pi', each, 'MB', SESSION_MB);
			for (const tab of open) tab.close();
		});
	});
}

async function tabs(report: Report, browser: Browser) {
	await withBench(browser, asAsked, { closed: true }, async (bench) => {
		const { page } = await openPage(bench, { prepare: teachPainted });
		await answered(page, 'Hello.');
		const session = sessionOf(page);
		await page.close();
		const speaker = await openTab(bench, session, true);
		const one = await costOf(bench, () => said(speaker, '200 KB, 2 ms apart'));
		const others: Tab[] = [];
		while (others.length < TABS - 1) others.push(await openTab(bench, session));
		const all = await costOf(bench, () => said(speaker, '200 KB, 2 ms apart'));
		for (const tab of [speaker, ...others]) tab.close();
		report.note('processor time of the proxy: 200 KB to one tab', one, 'ms');
		report.note(`processor time of the proxy: 200 KB to ${TABS} tabs`, all, 'ms');
		report.ratio(`processor time of the proxy: ${TABS} tabs / one tab`, all / one, 3);
	});
}

/** Pi's records as they come from an answer and from a command, each against its mere parsing. */
async function megabytes(report: Report, browser: Browser) {
	const printing = (request: ModelRequest): Reply =>
		firstTurn(request)
			? [bash('for i in $(seq 90); do seq -w 1 9000; sleep 0.1; done')]
			: [{ text: 'Done.', pace: 0 }];
	await megabyte(report, browser, asAsked, '200 KB, 0 ms apart', 'an answer');
	await megabyte(report, browser, printing, 'Print.', "a command's output");
}

async function megabyte(
	report: Report,
	browser: Browser,
	play: (request: ModelRequest) => Reply,
	prompt: string,
	of: string,
) {
	await withRecording(browser, play, prompt, async (flags, records) => {
		const recorded = Buffer.byteLength(records.join('\n')) / 1e6;
		const repeats = Math.ceil(PLAYED_MB / recorded);
		const megabytes = recorded * repeats;
		await withBench(browser, play, { closed: true, flags }, async (bench) => {
			const tab = await openTab(bench, 'new', true);
			const session = tab.conversation!.session!.id;
			tab.close();
			const speaker = await openTab(bench, session, true);
			// The first time pays for code that runs for the first time.
			await said(speaker, prompt);
			const cost = await costOf(bench, async () => {
				for (let count = 0; count < repeats; count++) await said(speaker, prompt);
			});
			speaker.close();
			const parsing = parsed(records, repeats);
			report.note(`processor time of the proxy for a MB of ${of}`, cost / megabytes, 'ms');
			report.note(`JSON.parse of a MB of ${of}`, parsing / megabytes, 'ms');
			report.ratio(`processor time of the proxy / JSON.parse, ${of}`, cost / parsing, 2);
		});
	});
}

/** Processor time of parsing all records as often as they were played. */
function parsed(records: string[], repeats: number): number {
	const before = process.cpuUsage();
	for (let count = 0; count < repeats; count++) for (const record of records) JSON.parse(record);
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}

async function costOf({ holdfast }: Bench, work: () => Promise<void>): Promise<number> {
	const pid = holdfast.proxy.pid!;
	await sleep(1_000);
	const before = processorTime(pid);
	await work();
	return processorTime(pid) - before;
}

/** Sends a prompt and waits until Pi has come to rest from it. */
async function said(tab: Tab, prompt: string) {
	const answers = () =>
		tab.conversation!.messages.filter(({ kind }) => kind === 'assistant').length;
	const before = answers();
	tab.prompt(prompt);
	await until(
		'an answer',
		() => answers() > before && tab.conversation!.activity.kind === 'idle',
		120_000,
	);
}

async function start(report: Report) {
	const folder = await scripted(() => []);
	const began = performance.now();
	const npm = spawn('npm', ['start', '--', '--port', '0', '--no-open', '--cwd', folder.cwd], {
		env: folder.env,
		stdio: ['ignore', 'pipe', 'ignore'],
	});
	const exited = new Promise((resolve) => npm.once('exit', resolve));
	try {
		let stdout = '';
		for await (const chunk of npm.stdout) {
			stdout += String(chunk);
			if (/^Holdfast is ready: \S+$/m.test(stdout)) break;
		}
		const took = performance.now() - began;
		if (!stdout.includes('Holdfast is ready')) throw new Error('npm start ended without a URL.');
		report.absolute('npm start to the printed URL', took, 'ms', START_MS);
	} finally {
		npm.kill();
		await exited;
		await folder.remove();
	}
}
