"""Keys and pastes that come faster than they can be drawn."""

from synthetic import SHIPPED, Console, open_terminal


def test_keys_sent_in_one_burst_all_arrive(console: Console) -> None:
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("reference", *SHIPPED)
        for _ in range(8):
            terminal.press("/kl_coef=0.02 or name:kl05\r")
            terminal.sees("filter kl_coef=0.02 or name:kl05")
            terminal.press("esc")
            terminal.until(lambda: "filter" not in terminal.text)
        terminal.press(":sort by dev.kl\r/kl0\r\rm")
        terminal.sees("KL  nats, k1", "kl002-s1500")


def test_all_lines_of_a_paste_are_there_before_the_key_behind_it(console: Console) -> None:
    with open_terminal(console, 80, 24, "--read-only") as terminal:
        terminal.sees("reference", *SHIPPED)
        for _ in range(8):
            terminal.press("/\x1b[200~kl_coef=0.02\r\n\n\tor\rname:kl05\n\x1b[201~\r")
            terminal.sees("filter kl_coef=0.02 or name:kl05")
            terminal.press("esc")
            terminal.until(lambda: "filter" not in terminal.text)
