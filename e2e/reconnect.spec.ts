import { readdirSync, readFileSync } from 'node:fs';
import { bash, expect, firstTurn, test, Ui } from './holdfast.ts';

/** The Pi of the proxy: its child that was started with `--mode rpc`. */
function piOf(proxy: number): number {
	const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
	for (const pid of pids) {
		try {
			const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
			const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
			const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
			if (Number(parent) === proxy && environment.includes('HOLDFAST_ENGINE=')) return Number(pid);
		} catch {
			// It has ended since it was listed.
		}
	}
	throw new Error('The proxy has no Pi.');
}

test('Pi killed in mid-stream: said, started again, what was seen is kept, and it goes on', async ({
	page,
	start,
	ui,
}) => {
	const { url, proxy, provider } = await start(({ attempt }) =>
		attempt === 1 ? [{ text: 'Half of the' }, { hang: true }] : [{ text: 'The whole of it.' }],
	);
	await page.goto(url);
	await ui.send('Tell me.');
	await expect(ui.answers).toContainText('Half of the');

	process.kill(piOf(proxy.pid!), 'SIGKILL');
	await expect(ui.log).toContainText('Pi was ended by SIGKILL.');
	await expect(page.getByText('Pi ended in mid-run')).toBeVisible();
	await expect(ui.answers).toContainText('Half of the');
	await expect(ui.answers).toContainText('interrupted here');

	await ui.button('Try again').click();
	await expect(ui.answers.last()).toHaveText('The whole of it.');
	await expect(ui.answers.first()).toContainText('Half of the');
	await expect(ui.prompts).toHaveCount(1);
	expect(provider.requests.at(-1)!.messages.map(({ text }) => text)).toEqual(['Tell me.']);
});

test('Pi killed in mid-command: its shell is ended too, and the run can go on', async ({
	page,
	start,
	ui,
}) => {
	const { url, proxy } = await start((request) =>
		firstTurn(request)
			? [{ text: 'I run it.' }, bash('echo begun; sleep 301')]
			: [{ text: 'Gone on.' }],
	);
	await page.goto(url);
	await ui.send('Run it.');
	await expect(ui.commands).toContainText('begun');

	process.kill(piOf(proxy.pid!), 'SIGKILL');
	await expect(ui.log).toContainText(/Ended what Pi had left running: .*sleep 301/);
	await expect(ui.commands).toContainText('begun');
	await ui.button('Try again').click();
	await expect(ui.answers).toHaveText(['I run it.', 'Gone on.']);
	await expect(ui.prompts).toHaveCount(1);
});

test('three deaths in a minute: it is not started again by itself, but by the person', async ({
	page,
	start,
	ui,
}) => {
	const { url, proxy } = await start(() => [{ text: 'Still here.' }]);
	await page.goto(url);
	await ui.send('Hello');
	await expect(ui.answers).toHaveText(['Still here.']);
	await ui.rested();

	for (let death = 1; death <= 3; death++) {
		process.kill(piOf(proxy.pid!), 'SIGKILL');
		await expect(ui.log.getByText('Pi was ended by SIGKILL.')).toHaveCount(death);
		if (death < 3) await expect(ui.button('Start Pi again')).toHaveCount(0);
	}
	await ui.button('Start Pi again').click();
	await expect(ui.button('Start Pi again')).toHaveCount(0);
	await ui.send('And now?');
	await expect(ui.answers.last()).toHaveText('Still here.');
});

test('the proxy killed in mid-stream: the page comes back by itself, and nothing accepted is lost', async ({
	page,
	start,
	ui,
}) => {
	const holdfast = await start(({ messages }) =>
		messages.length === 1 ? [{ text: 'First.' }] : [{ text: 'Second, half of' }, { hang: true }],
	);
	await page.goto(holdfast.url);
	await ui.send('one');
	await expect(ui.answers).toHaveText(['First.']);
	await ui.rested();
	await ui.send('two');
	await expect(ui.answers.last()).toContainText('Second, half of');
	await ui.message.fill('three');
	await ui.button('After this').click();
	await expect(page.getByRole('region', { name: 'Waiting messages' })).toContainText('three');

	await holdfast.kill();
	await expect(page.getByText('Reconnecting…')).toBeVisible();
	await expect(ui.log).toContainText('Second, half of');
	await ui.message.fill('a draft');
	await holdfast.restart();

	await expect(page.getByText('Reconnecting…')).toHaveCount(0);
	await expect(ui.message).toHaveValue('a draft');
	await expect(ui.prompts).toContainText(['one', 'two']);
	await expect(page.getByRole('region', { name: 'Messages not sent' })).toContainText('three');
});

test('a command of the person, sent while the proxy was away, outlives the page and runs once', async ({
	page,
	start,
	ui,
	context,
}) => {
	const holdfast = await start(() => [{ text: 'Here.' }]);
	await page.goto(holdfast.url);
	await ui.send('one');
	await expect(ui.answers).toHaveText(['Here.']);
	const address = page.url();
	await holdfast.kill();
	await expect(page.getByText('Reconnecting…')).toBeVisible();
	await ui.send('!echo once >> ran; cat ran');
	await expect(ui.log).toContainText('sending…');
	await page.close();

	await holdfast.again();
	const later = new Ui(await context.newPage());
	await later.page.goto(address);
	await expect(later.commands.locator('pre')).toHaveText('once\n');
	await later.page.reload();
	await expect(later.commands.locator('pre')).toHaveText('once\n');
	await expect(later.log).not.toContainText('sending…');
});

test('what takes too long to stop offers the next larger step, up to a new Pi', async ({
	page,
	start,
	ui,
}) => {
	const { url, proxy } = await start((request) =>
		firstTurn(request) ? [bash('echo begun; sleep 302')] : [{ text: 'Gone on.' }],
	);
	await page.goto(url);
	await ui.send('Run it.');
	await expect(ui.commands).toContainText('begun');
	// A stopped process hears nothing.
	process.kill(piOf(proxy.pid!), 'SIGSTOP');

	await ui.button('Stop command').click();
	await expect(ui.button('Stopping…')).toBeVisible();
	await ui.button('Stop the run').click();
	await ui.button('Restart Pi').click();
	await expect(ui.log).toContainText('Pi was restarted, as you asked.');
	await expect(ui.commands).toContainText('begun');
	await ui.button('Try again').click();
	await expect(ui.answers).toHaveText(['Gone on.']);
});

test('a model that says nothing for 40 s is told apart from work', async ({ page, start, ui }) => {
	await page.clock.install();
	const { url } = await start(() => [{ hang: true }]);
	await page.goto(url);
	await ui.send('Anyone there?');
	await expect(ui.log.getByText('Pi is working')).toBeVisible();
	await expect(page.getByText('No answer from the model')).toHaveCount(0);
	await page.clock.fastForward(41_000);
	await expect(page.getByText(/No answer from the model for 0:4\d/)).toBeVisible();
	await ui.button('Stop').click();
	await expect(page.getByText('stopped by you')).toBeVisible();
});

test('images of a draft survive a reload', async ({ page, start, ui }) => {
	const { url, provider } = await start(() => [{ text: 'Seen.' }]);
	await page.goto(url);
	await expect(ui.message).toBeFocused();
	await page.evaluate(async () => {
		const canvas = document.createElement('canvas');
		canvas.width = canvas.height = 8;
		const blob = await new Promise<Blob>((resolve) => canvas.toBlob((made) => resolve(made!)));
		const data = new DataTransfer();
		data.items.add(new File([blob], 'dot.png', { type: 'image/png' }));
		const box = document.querySelector('textarea')!;
		box.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
	});
	await expect(ui.button('Remove image 1')).toBeVisible();
	await ui.message.fill('Look.');
	await page.reload();
	await expect(ui.message).toHaveValue('Look.');
	await expect(ui.button('Remove image 1')).toBeVisible();
	await ui.button('Send').click();
	await expect(ui.answers).toHaveText(['Seen.']);
	await expect(ui.prompts.getByRole('img')).toHaveCount(1);
	expect(provider.requests).toHaveLength(1);
});
