import { spawnSync } from 'node:child_process';
import {
	closeSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Scripted } from '../../server/bridge/real-pi.ts';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { expect, until, withBench, type Bench } from './bench.ts';
import { sessionFiles, wholeLines } from './session-file.ts';
import type { Row, Tally, Tools } from './tally.ts';

const SIZE = '3m';
const BLOCK = 4_096;
const MUST = 'said before anything is sent, text kept, no torn line, "Send again" works';

export const disk: Row[] = [
	{
		name: "full disk under Pi's sessions",
		must: MUST,
		run: (tally, tools) =>
			refused(tally, tools, sessionsOf, {
				shut: fill,
				mend: (folder) => rmSync(join(folder, 'filler')),
				said: /the disk .*full/i,
			}),
	},
	{
		name: "full disk under Holdfast's state",
		must: MUST,
		run: (tally, tools) =>
			refused(tally, tools, stateOf, {
				shut: fill,
				mend: (folder) => rmSync(join(folder, 'filler')),
				said: /make room on the disk/i,
			}),
	},
	{
		name: "Pi's sessions on a disk that cannot be written",
		must: MUST,
		run: (tally, tools) =>
			// Permissions do not bind root, a disk mounted read-only does.
			refused(tally, tools, sessionsOf, {
				shut: (folder) => remount(folder, 'ro'),
				mend: (folder) => remount(folder, 'rw'),
				said: /cannot write to/i,
			}),
	},
	{
		name: "Holdfast's state fills up in mid-run",
		must: 'the run goes on, and so does the proxy',
		run: fillInMidRun,
	},
];

interface Trouble {
	shut: (folder: string) => void;
	mend: (folder: string) => void;
	/** What the page must say. */
	said: RegExp;
}

const sessionsOf = ({ agentDir }: Scripted) => join(agentDir, 'sessions');
const stateOf = ({ agentDir }: Scripted) => join(dirname(dirname(agentDir)), '.state');

const play = ({ messages }: ModelRequest): Reply => [{ text: `Heard ${messages.at(-1)!.text}` }];

async function refused(
	tally: Tally,
	{ browser, times, random }: Tools,
	place: (folder: Scripted) => string,
	trouble: Trouble,
) {
	let folder = '';
	const prepare = (scripted: Scripted) => mountSmall((folder = place(scripted)));
	if (!mayMount(tally)) return;
	await withBench(browser, play, { prepare }, async (bench) => {
		const { ui } = bench;
		await ui.send('say before');
		await expect(ui.answers.last()).toHaveText('Heard say before');
		for (let count = 0; count < times(1, 3); count++) {
			await ui.rested();
			trouble.shut(folder);
			await refuseOnce(tally, bench, `say ${random.word().repeat(1_000)}`, trouble, folder);
			tally.runs++;
		}
		for (const file of sessionFiles(bench.folder)) wholeLines(tally, file);
	});
}

/** Longer than what may still fit into the last block of a file. */
async function refuseOnce(
	tally: Tally,
	{ page, ui, holdfast: { provider } }: Bench,
	prompt: string,
	trouble: Trouble,
	folder: string,
) {
	const before = provider.requests.length;
	await ui.send(prompt);
	const alert = ui.log.getByRole('alert');
	await expect(alert).toContainText('Not sent');
	const said = (await alert.textContent())!;
	tally.expect(trouble.said.test(said), `the page says: ${said}`);
	tally.expect(!/^Not sent: E[A-Z]+:/.test(said), `the page says only: ${said}`);

	// Its text is there, over a reload too.
	const failed = ui.log.locator('[data-delivery=failed]');
	await expect(failed).toContainText(prompt);
	await page.reload();
	await expect(failed).toContainText(prompt);
	tally.expect(provider.requests.length === before, 'it was sent to the provider all the same');

	trouble.mend(folder);
	await ui.button('Send again').click();
	await expect(ui.answers.last()).toHaveText(`Heard ${prompt}`);
	await expect(failed).toHaveCount(0);
	const told = provider.requests.at(-1)!.messages.filter(({ text }) => text === prompt);
	if (told.length !== 1) tally.doubled(`prompt "${prompt.slice(0, 20)}…" ${told.length} times`);
}

async function fillInMidRun(tally: Tally, { browser, times }: Tools) {
	if (!mayMount(tally)) return;
	for (let count = 0; count < times(1, 3); count++) {
		let folder = '';
		const prepare = (scripted: Scripted) => mountSmall((folder = stateOf(scripted)));
		const slow = ({ messages }: ModelRequest): Reply => [
			{ wait: 700 },
			{ text: `Heard ${messages.at(-1)!.text}`, pace: 50 },
		];
		await withBench(browser, slow, { prepare }, async ({ ui, holdfast }) => {
			await ui.send('say before');
			await expect(ui.answers).toHaveText('Heard say before');
			await ui.rested();
			const prompt = fillingItsBlock(folder);
			await ui.send(prompt);
			await until('the request', () => holdfast.provider.requests.length === 2);
			fill(folder);
			let answered = false;
			const ended = () => holdfast.proxy.exitCode !== null || holdfast.proxy.signalCode !== null;
			void expect(ui.answers.last())
				.toHaveText(`Heard ${prompt}`)
				.then(
					() => (answered = true),
					// Then it did not answer, which is told below.
					() => {},
				);
			// One that ends over it never answers, and says why on stderr.
			await until('the answer', () => ended() || answered);
			if (ended()) return tally.problem(`the proxy ended: ${lastWords(holdfast.stderr())}`);
			await ui.rested();
			rmSync(join(folder, 'filler'));
			await ui.send('say after');
			await expect(ui.answers.last()).toHaveText('Heard say after');
			tally.runs++;
		});
	}
}

const lastWords = (stderr: string) =>
	/^\w*Error: .*$/m.exec(stderr)?.[0] ?? stderr.trim().split('\n').at(-1);

/** A prompt so long that whatever is written down after it needs a block of its own. */
function fillingItsBlock(state: string) {
	const folder = join(state, 'holdfast/journal');
	const text = readFileSync(join(folder, readdirSync(folder)[0]!), 'utf8');
	const line = text.split('\n').find((line) => line.includes('say before'))!;
	const written = text.length + line.length + 2 - 'say before'.length;
	return 'say '.padEnd(2 * BLOCK - 8 - (written % BLOCK), 'x');
}

/** Leaves not a byte. */
function fill(folder: string) {
	const file = openSync(join(folder, 'filler'), 'w');
	try {
		for (const size of [65_536, 4_096, 1]) {
			const block = Buffer.alloc(size, 'x');
			try {
				while (writeSync(file, block) === size);
			} catch {
				// Full, for blocks of this size.
			}
		}
	} finally {
		closeSync(file);
	}
}

const remount = (folder: string, mode: 'ro' | 'rw') =>
	run('mount', '-o', `remount,${mode}`, folder);

function mayMount(tally: Tally) {
	const place = '/tmp/holdfast-mount-test';
	try {
		mountSmall(place)();
		return true;
	} catch (error) {
		tally.skipped = `mounting a small disk needs Linux, root and the right to mount: ${(error as Error).message.trim()}`;
		return false;
	}
}

/** Returns what undoes it. */
function mountSmall(folder: string) {
	mkdirSync(folder, { recursive: true });
	run('mount', '-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', folder);
	return () => run('umount', '-l', folder);
}

function run(command: string, ...args: string[]) {
	const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
	if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`);
}
