import type { ModelRequest, Reply, Step } from '../../server/demo/provider.ts';
import { bash, error, firstTurn } from '../holdfast.ts';
import { clickToStatus, expect, seenAt, signal, until, withBench, type Bench } from './bench.ts';
import { pisOf, processesWith, variable } from './processes.ts';
import type { Row, Tally, Tools } from './tally.ts';

const STOP_MS = 500;
const PATIENCE_MS = 3_000;
const USABLE_MS = 3_000;

export const stops: Row[] = [
	{
		name: 'provider: hang, drop, garbage, slow bytes',
		must: 'Stop within 500 ms each time',
		run: stopProvider,
	},
	{
		name: 'deaf Pi: stop the command, the run, restart Pi',
		must: 'the next larger step is offered after 3 s, and works',
		run: deafInCommand,
	},
	{
		name: 'deaf Pi: cancel the retry, stop the run',
		must: 'the next larger step is offered after 3 s, and works',
		run: deafInRetry,
	},
];

/** Bytes of a good event, a few at a time. */
const trickle: Step[] =
	`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'slow' } }] })}\n\n`
		.match(/.{1,4}|\n/gs)!
		.flatMap((garbage): Step[] => [{ garbage }, { wait: 400 }]);

const FAULTS: Record<string, Step[]> = {
	hang: [{ hang: true }],
	drop: [{ text: 'So far and' }, { drop: true }],
	garbage: [
		...Array.from({ length: 20 }, (): Step[] => [
			{ garbage: '<html>\u0000 502 \ufffd</html>\n: a comment\n' },
			{ wait: 100 },
		]).flat(),
		{ hang: true },
	],
	'slow bytes': trickle,
};

async function stopProvider(tally: Tally, { browser, times }: Tools) {
	let fault = 'hang';
	await withBench(
		browser,
		() => FAULTS[fault]!,
		{ settings: { retry: { baseDelayMs: 5_000 } } },
		async ({ page, ui, holdfast: { provider } }) => {
			for (fault of Object.keys(FAULTS)) {
				for (let run = 0; run < times(1, 5); run++) {
					const before = provider.requests.length;
					await ui.send(`${fault}, number ${run}`);
					await until('the request', () => provider.requests.length > before);
					// Far enough into it that Pi has seen the fault.
					await page.waitForTimeout(600);
					await expect(ui.button('Stop')).toBeVisible();
					tally.time(
						`stopped (${fault})`,
						await clickToStatus(page, 'Stop', /^Stopped\.$/),
						STOP_MS,
						'each',
					);
					await ui.rested();
					tally.runs++;
				}
			}
		},
	);
}

const COMMAND = 'echo begun; for i in $(seq 300); do sleep 1; done';
const commandFirst = (request: ModelRequest): Reply => {
	const said = request.messages.findLast(({ role }) => role === 'user')?.text;
	return said === 'Still there?'
		? [{ text: 'Still here.' }]
		: firstTurn(request)
			? [bash(COMMAND)]
			: [{ text: 'Gone on.' }];
};

/** Stops Pi as a debugger would, so that it hears nothing. */
function deafen({ holdfast, mark }: Bench) {
	const [pi] = pisOf(holdfast.proxy.pid!, mark);
	signal(pi!.pid, 'SIGSTOP');
	return pi!;
}

/** Asks for a stop that cannot come, and measures when the larger one is offered. */
async function escalate(
	tally: Tally,
	{ page }: Bench,
	stop: string,
	doing: string,
	larger: string,
) {
	const began = Date.now();
	const said = seenAt(page, 'button', new RegExp(`^\\s*${doing}`));
	const offered = seenAt(page, 'button', new RegExp(`^\\s*${larger}\\s*$`));
	await page.getByRole('button', { name: stop, exact: true }).click();
	tally.time(`"${doing}" after "${stop}"`, (await said) - began, 500);
	const waited = (await offered) - began;
	tally.time(`"${larger}" offered after`, waited, PATIENCE_MS + 1_000, 'each');
	tally.expect(waited >= PATIENCE_MS - 100, `"${larger}" was offered after ${waited} ms already`);
}

async function restart(tally: Tally, bench: Bench, engine: string) {
	const { page, ui, holdfast, mark } = bench;
	const began = Date.now();
	await ui.button('Restart Pi').click();
	await expect(page.locator('[role=status]')).toHaveText('Pi has ended.');
	const usable = await seenAt(page, '[role=status]', /^Pi has ended/, false);
	tally.time('usable after "Restart Pi"', usable - began, 2 * USABLE_MS);
	const [pi] = pisOf(holdfast.proxy.pid!, mark);
	tally.leftOver(processesWith(engine).filter(({ pid }) => pid !== pi?.pid));
	await ui.send('Still there?');
	await expect(ui.answers.last()).toContainText('Still here.');
}

async function deafInCommand(tally: Tally, { browser, times }: Tools) {
	for (let run = 0; run < times(1, 3); run++) {
		await withBench(browser, commandFirst, {}, async (bench) => {
			const { ui } = bench;
			await ui.send('Run it.');
			await expect(ui.commands.locator('pre')).toContainText('begun');
			const pi = deafen(bench);
			await escalate(tally, bench, 'Stop command', 'Stopping…', 'Stop the run');
			await escalate(tally, bench, 'Stop the run', 'Stopping…', 'Restart Pi');
			await restart(tally, bench, variable(pi, 'HOLDFAST_ENGINE')!);
			await expect(ui.commands.locator('pre')).toContainText('begun');
			tally.runs++;
		});
	}
}

async function deafInRetry(tally: Tally, { browser, times }: Tools) {
	const settings = { retry: { baseDelayMs: 60_000 } };
	for (let run = 0; run < times(1, 3); run++) {
		await withBench(
			browser,
			() => error(429),
			{ settings },
			async (bench) => {
				const { page, ui } = bench;
				await ui.send('Work, please.');
				await expect(ui.progress).toBeVisible();
				const pi = deafen(bench);
				await escalate(tally, bench, 'Cancel retry', 'Cancelling…', 'Stop the run');
				await ui.button('Stop the run').click();
				// It hears again: then what was asked for comes about.
				signal(pi.pid, 'SIGCONT');
				await expect(page.locator('[role=status]')).toHaveText(
					/^(Stopped|The retry was cancelled)\.$/,
				);
				await ui.rested();
				tally.runs++;
			},
		);
	}
}
